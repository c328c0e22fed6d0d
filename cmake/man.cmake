# Man pages, made by scripts/man.py: bh_insert(3) and so on from the comments of the public headers,
# bulkhash(1) and so on from what the program prints as its help.

# A program that is instrumented, or for another machine, is not asked for its help.
if(BULKHASH_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_package(Python3 3.8 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(STATUS "bulkhash: the man pages are left out: no Python 3.8 (Debian: python3)")
  return()
endif()

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/bulkhash/*.h)
set(man_pages ${CMAKE_BINARY_DIR}/man)
set(man_program)
set(man_programs)
if(TARGET bulkhash_program)
  set(man_program --program $<TARGET_FILE:bulkhash_program>)
  set(man_programs bulkhash_program)
  if(TARGET bulkhash_bench)
    list(APPEND man_programs bulkhash_bench) # which prints the help of `bulkhash bench`
  endif()
endif()
# Which pages there are is known when they are written, so what the build looks at is another file.
add_custom_command(OUTPUT ${man_pages}/written
  COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:bulkhash>
    ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/man.py ${man_pages} ${man_program} ${public_headers}
  COMMAND ${CMAKE_COMMAND} -E touch ${man_pages}/written
  DEPENDS ${PROJECT_SOURCE_DIR}/scripts/man.py ${public_headers} ${man_programs}
  COMMENT "Writing man pages" VERBATIM)
add_custom_target(bulkhash_man ALL DEPENDS ${man_pages}/written)
install(DIRECTORY ${man_pages}/man1 ${man_pages}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
