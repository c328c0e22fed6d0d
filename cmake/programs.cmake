# `bulkhash`, `bulkhash-bench` and `bulkhash-bench-lines`, side by side in bin/: each starts the next.

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
    target_link_libraries(bulkhash_program PRIVATE bulkhash ZLIB::ZLIB Threads::Threads bulkhash_flags)
    list(APPEND installed_programs bulkhash_program)
  endif()
endif()

# The benchmark twice: with the library as it is, and with its special build that counts lines. They
# differ in the file that runs the experiment `lines`: it starts the other program, or it counts.
if(bench_sources)
  set(bench_counts ${PROJECT_SOURCE_DIR}/bench/lines.c)
  set(bench_starts ${PROJECT_SOURCE_DIR}/bench/neighbour.c)
  set(bench_common ${bench_sources})
  list(REMOVE_ITEM bench_common ${bench_counts} ${bench_starts})
  add_executable(bulkhash_bench ${bench_common} ${bench_starts})
  set_target_properties(bulkhash_bench PROPERTIES OUTPUT_NAME bulkhash-bench)
  target_link_libraries(bulkhash_bench PRIVATE bulkhash_internal bulkhash_flags)
  add_executable(bulkhash_bench_lines ${bench_common} ${bench_counts})
  set_target_properties(bulkhash_bench_lines PROPERTIES OUTPUT_NAME bulkhash-bench-lines)
  target_link_libraries(bulkhash_bench_lines PRIVATE bulkhash_lines bulkhash_flags)
  list(APPEND installed_programs bulkhash_bench bulkhash_bench_lines)
endif()
