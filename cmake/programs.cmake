# `bulkhash` and `bulkhash-bench`, side by side in bin/: the first starts the second.

file(GLOB program_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)

set(installed_programs)
# Installed programs find the library without ldconfig and LD_LIBRARY_PATH.
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

if(NOT BULKHASH_PROGRAM STREQUAL "OFF")
  find_package(ZLIB)
  if(NOT ZLIB_FOUND)
    set(missing "zlib (Debian: zlib1g-dev)")
    if(BULKHASH_PROGRAM STREQUAL "AUTO")
      message(STATUS "bulkhash: the program bulkhash is left out: no ${missing}")
    else()
      message(FATAL_ERROR "The program bulkhash needs ${missing}.")
    endif()
  elseif(program_sources)
    # Its file is called bulkhash; the target's name is the library's.
    add_executable(bulkhash_program ${program_sources})
    set_target_properties(bulkhash_program PROPERTIES
      OUTPUT_NAME bulkhash INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    target_link_libraries(bulkhash_program PRIVATE bulkhash ZLIB::ZLIB bulkhash_flags)
    list(APPEND installed_programs bulkhash_program)
  endif()
endif()

if(bench_sources)
  add_executable(bulkhash_bench ${bench_sources})
  set_target_properties(bulkhash_bench PROPERTIES OUTPUT_NAME bulkhash-bench)
  target_link_libraries(bulkhash_bench PRIVATE bulkhash_internal bulkhash_flags)
  list(APPEND installed_programs bulkhash_bench)
endif()
