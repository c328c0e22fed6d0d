# What `cmake --install` lays down: libraries, header, programs, and the files by which pkg-config
# and find_package() find them.

include(CMakePackageConfigHelpers)

install(TARGETS bulkhash bulkhash_static EXPORT bulkhashTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET bulkhash_cuda)
  install(TARGETS bulkhash_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bulkhash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h)
if(installed_programs)
  install(TARGETS ${installed_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Paths relative to the .pc file hold wherever the tree is installed or moved to.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# What libbulkhash.a leaves to whoever links it.
set(pc_libs_private -pthread)
if(CMAKE_DL_LIBS)
  string(APPEND pc_libs_private " -l${CMAKE_DL_LIBS}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/bulkhash.pc.in ${CMAKE_BINARY_DIR}/bulkhash.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bulkhash.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/bulkhash
  FILES_MATCHING PATTERN *.c PATTERN *.h)

if(TARGET bulkhash_program)
  install(FILES ${PROJECT_SOURCE_DIR}/cli/completion.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME bulkhash)
endif()

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bulkhash)
install(EXPORT bulkhashTargets NAMESPACE bulkhash:: DESTINATION ${cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/bulkhashConfig.cmake.in
  ${CMAKE_BINARY_DIR}/bulkhashConfig.cmake INSTALL_DESTINATION ${cmake_dir})
# Before 1.0 every minor version may change what programs are written against. (Those that are compiled
# go on to work: base/structs.h.)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/bulkhashConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/bulkhashConfig.cmake ${CMAKE_BINARY_DIR}/bulkhashConfigVersion.cmake
  DESTINATION ${cmake_dir})
