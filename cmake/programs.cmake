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

# Other people's hash tables for the benchmark, the only C++ here. Not under sanitizers: libraries
# that were built without them look like errors to them (memory written by code they did not see,
# locks that they do not know).
set(peers_compiler)
if(bench_sources AND NOT BULKHASH_SANITIZE AND NOT BULKHASH_PEERS STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CXX)
  set(peers_compiler ${CMAKE_CXX_COMPILER})
  if(NOT peers_compiler)
    message(STATUS "bulkhash: the benchmark will not compare with other tables: no C++ compiler")
  endif()
endif()
if(peers_compiler)
  enable_language(CXX)
  set(peers_sources ${PROJECT_SOURCE_DIR}/bench/peers.cpp ${PROJECT_SOURCE_DIR}/bench/sort_peers.cpp)
  add_library(bulkhash_peers STATIC EXCLUDE_FROM_ALL ${peers_sources})
  set_target_properties(bulkhash_peers PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  set(bulkhash_cxx_warnings ${bulkhash_warnings})
  list(FILTER bulkhash_cxx_warnings EXCLUDE REGEX "prototypes") # words of C
  target_compile_options(bulkhash_peers PRIVATE
    ${bulkhash_cxx_warnings} $<$<BOOL:${BULKHASH_WERROR}>:-Werror>)

  set(peers_definitions)
  set(peers_missing)
  # What is found serves our file as a system header, which is not warned about.
  macro(bulkhash_peer name package found libraries)
    if(${found})
      list(APPEND peers_definitions BENCH_HAVE_${name}=1)
      target_link_libraries(bulkhash_peers PRIVATE ${libraries})
    else()
      list(APPEND peers_missing ${package})
    endif()
  endmacro()
  find_path(LIBCUCKOO_INCLUDE_DIR libcuckoo/cuckoohash_map.hh)
  find_package(TBB CONFIG QUIET)
  find_path(BOOST_FLAT_MAP_INCLUDE_DIR boost/unordered/unordered_flat_map.hpp)
  find_path(BOOST_SPREADSORT_INCLUDE_DIR boost/sort/spreadsort/integer_sort.hpp)
  find_package(absl CONFIG QUIET)
  bulkhash_peer(LIBCUCKOO libcuckoo-dev LIBCUCKOO_INCLUDE_DIR Threads::Threads)
  bulkhash_peer(TBB libtbb-dev TBB_FOUND TBB::tbb)
  bulkhash_peer(BOOST libboost1.81-dev BOOST_FLAT_MAP_INCLUDE_DIR "")
  bulkhash_peer(SPREADSORT libboost1.81-dev BOOST_SPREADSORT_INCLUDE_DIR "")
  bulkhash_peer(ABSL libabsl-dev absl_FOUND absl::flat_hash_map)
  foreach(folder LIBCUCKOO_INCLUDE_DIR BOOST_FLAT_MAP_INCLUDE_DIR BOOST_SPREADSORT_INCLUDE_DIR)
    if(${folder})
      target_include_directories(bulkhash_peers SYSTEM PRIVATE ${${folder}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES peers_missing)
  list(JOIN peers_missing " " peers_missing)
  if(peers_missing)
    message(STATUS "bulkhash: the benchmark will not compare with all: no ${peers_missing}")
  endif()
  list(APPEND peers_definitions "BENCH_PEERS_MISSING=\"${peers_missing}\"")
  target_compile_definitions(bulkhash_peers PRIVATE ${peers_definitions})
endif()

# The benchmark's own device code. The CUDA runtime is linked statically, so the program runs where
# there is none.
if(bench_sources AND TARGET bulkhash_cuda)
  add_library(bulkhash_bench_gpu STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/gpu.cu)
  target_include_directories(bulkhash_bench_gpu PRIVATE ${PROJECT_SOURCE_DIR}/include)
  set_target_properties(bulkhash_bench_gpu PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  if(BULKHASH_WERROR)
    target_compile_options(bulkhash_bench_gpu PRIVATE --Werror all-warnings)
  endif()
endif()

# cuCollections for the benchmark on a GPU: headers alone, in a folder that the user names. Results tell
# their commit, which git says, or a file COMMIT in an archive's place, or the user.
set(BULKHASH_CUCO "" CACHE PATH
  "Folder of the sources of cuCollections, to compare with in bulkhash-bench on a GPU")
set(BULKHASH_CUCO_COMMIT "" CACHE STRING "Commit of BULKHASH_CUCO; empty: what its folder says")
if(BULKHASH_CUCO AND NOT TARGET bulkhash_bench_gpu)
  message(FATAL_ERROR "BULKHASH_CUCO is given, and the benchmark on a GPU is not built: it needs nvcc, "
    "and no BULKHASH_CUDA=OFF and no BULKHASH_SANITIZE.")
elseif(BULKHASH_CUCO AND NOT EXISTS ${BULKHASH_CUCO}/include/cuco/static_map.cuh)
  message(FATAL_ERROR "BULKHASH_CUCO: there is no include/cuco/static_map.cuh in ${BULKHASH_CUCO}.")
elseif(BULKHASH_CUCO)
  set(cuco_commit ${BULKHASH_CUCO_COMMIT})
  find_package(Git QUIET)
  if(NOT cuco_commit AND GIT_FOUND AND EXISTS ${BULKHASH_CUCO}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --exclude=* --dirty
      WORKING_DIRECTORY ${BULKHASH_CUCO} OUTPUT_VARIABLE cuco_commit ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(NOT cuco_commit AND EXISTS ${BULKHASH_CUCO}/COMMIT)
    file(STRINGS ${BULKHASH_CUCO}/COMMIT cuco_commit LIMIT_COUNT 1)
  endif()
  if(NOT cuco_commit MATCHES "^[-+._A-Za-z0-9]+$")
    set(cuco_commit unknown)
  endif()
  message(STATUS "bulkhash: the benchmark on a GPU will compare with cuCollections, commit ${cuco_commit}")
  add_library(bulkhash_bench_cuco STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/cuco_peers.cu)
  target_include_directories(bulkhash_bench_cuco SYSTEM PRIVATE ${BULKHASH_CUCO}/include)
  target_compile_definitions(bulkhash_bench_cuco PRIVATE BENCH_CUCO_COMMIT="${cuco_commit}")
  target_compile_options(bulkhash_bench_cuco PRIVATE --extended-lambda
    $<$<BOOL:${BULKHASH_WERROR}>:--Werror=all-warnings>)
  set_target_properties(bulkhash_bench_cuco PROPERTIES CUDA_RUNTIME_LIBRARY Static)
endif()

# The commit that results are of. The target is looked at in every build; the file is written, and
# compiled, only when the commit is another one.
if(bench_sources)
  set(commit_source ${PROJECT_BINARY_DIR}/bench/commit.c)
  add_custom_target(bulkhash_commit
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${commit_source}
      -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
    BYPRODUCTS ${commit_source} VERBATIM)
  add_library(bulkhash_bench_commit STATIC EXCLUDE_FROM_ALL ${commit_source})
  target_include_directories(bulkhash_bench_commit PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(bulkhash_bench_commit PRIVATE bulkhash_flags)
  add_dependencies(bulkhash_bench_commit bulkhash_commit)
endif()

# The benchmark twice: with the library as it is, and with its special build that counts lines. They
# differ in the file that runs the experiment `lines`: it starts the other program, or it counts; and
# the one that counts has no peers and no GPU.
if(bench_sources)
  set(bench_counts ${PROJECT_SOURCE_DIR}/bench/lines.c)
  set(bench_starts ${PROJECT_SOURCE_DIR}/bench/neighbour.c)
  set(bench_no_peers ${PROJECT_SOURCE_DIR}/bench/no_peers.c)
  set(bench_no_gpu ${PROJECT_SOURCE_DIR}/bench/no_gpu.c)
  set(bench_no_gpu_peers ${PROJECT_SOURCE_DIR}/bench/no_gpu_peers.c)
  set(bench_common ${bench_sources})
  list(REMOVE_ITEM bench_common
    ${bench_counts} ${bench_starts} ${bench_no_peers} ${bench_no_gpu} ${bench_no_gpu_peers})
  add_executable(bulkhash_bench ${bench_common} ${bench_starts})
  set_target_properties(bulkhash_bench PROPERTIES OUTPUT_NAME bulkhash-bench)
  target_link_libraries(bulkhash_bench PRIVATE
    bulkhash_internal bulkhash_bench_commit bulkhash_flags m)
  if(TARGET bulkhash_peers)
    target_link_libraries(bulkhash_bench PRIVATE bulkhash_peers)
  else()
    target_sources(bulkhash_bench PRIVATE ${bench_no_peers})
  endif()
  if(TARGET bulkhash_bench_gpu)
    target_link_libraries(bulkhash_bench PRIVATE bulkhash_bench_gpu)
  else()
    target_sources(bulkhash_bench PRIVATE ${bench_no_gpu})
  endif()
  if(TARGET bulkhash_bench_cuco)
    target_link_libraries(bulkhash_bench PRIVATE bulkhash_bench_cuco)
  else()
    target_sources(bulkhash_bench PRIVATE ${bench_no_gpu_peers})
  endif()
  list(APPEND installed_programs bulkhash_bench)
  if(NOT BULKHASH_SANITIZE) # nothing that is looked for by a sanitizer, and a unit more to compile
    add_executable(bulkhash_bench_lines
      ${bench_common} ${bench_counts} ${bench_no_peers} ${bench_no_gpu} ${bench_no_gpu_peers})
    set_target_properties(bulkhash_bench_lines PROPERTIES OUTPUT_NAME bulkhash-bench-lines)
    target_link_libraries(bulkhash_bench_lines PRIVATE
      bulkhash_lines bulkhash_bench_commit bulkhash_flags m)
    list(APPEND installed_programs bulkhash_bench_lines)
  endif()
endif()
