# The library: plain sources, and two compiled once for each instruction set, of which one is compiled so for each design.

file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/base/*.c
  ${PROJECT_SOURCE_DIR}/src/targets/*.c
  ${PROJECT_SOURCE_DIR}/src/primitives/*.c
  ${PROJECT_SOURCE_DIR}/src/tables/*.c
  ${PROJECT_SOURCE_DIR}/src/storage/*.c
  ${PROJECT_SOURCE_DIR}/src/cpu/*.c
  ${PROJECT_SOURCE_DIR}/src/cuda/host/*.c
  ${PROJECT_SOURCE_DIR}/src/api/*.c)
set(unit_sources ${PROJECT_SOURCE_DIR}/src/cpu/unit.c ${PROJECT_SOURCE_DIR}/src/cpu/unit_target.c)
list(REMOVE_ITEM library_sources ${unit_sources})

# The designs: the list of src/tables/designs.h.
set(design_list ${PROJECT_SOURCE_DIR}/src/tables/designs.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${design_list})
file(STRINGS ${design_list} designs REGEX "^#include \"tables/[a-z0-9_]+/design.h\"")
list(TRANSFORM designs REPLACE ".*tables/([a-z0-9_]+)/.*" "\\1")

# Names of the instruction sets, and for each the flags that a unit gets. Functions begin at multiples of 64 bytes: lookups of absent
# keys took 11.2 or 12.9 ns with the same instructions, by where a function began (docs/decisions/0051).
set(bulkhash_targets scalar)
set(unit_flags_scalar -DBH_TARGET_SCALAR=1)
set(unit_flags_avx2
  -DBH_TARGET_AVX2=1 -mavx2 -mbmi -mbmi2 -mprfchw -mtune=haswell -falign-functions=64)
set(unit_flags_avx512
  -DBH_TARGET_AVX512=1 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mbmi -mbmi2 -mprfchw -falign-functions=64)

check_source_compiles(C "#if !defined(__x86_64__)
#error not x86-64
#endif
int main(void) { return 0; }" BULKHASH_X86_64)

# ThreadSanitizer sees a vector load of a line as plain reads that race, so it gets the scalar
# unit alone, whose loads are atomic word by word.
if(BULKHASH_X86_64 AND NOT BULKHASH_SANITIZE STREQUAL "thread")
  set(vector_targets avx2 avx512)
  if(BULKHASH_SANITIZE AND EXISTS /proc/cpuinfo)
    # Instrumented, a unit takes minutes to compile: none that this machine could not run.
    file(STRINGS /proc/cpuinfo has_avx512 LIMIT_COUNT 1 REGEX "^flags.* avx512dq")
    if(NOT has_avx512)
      list(REMOVE_ITEM vector_targets avx512)
    endif()
  endif()
  foreach(name ${vector_targets})
    string(TOUPPER ${name} upper)
    string(REPLACE ";" " " flags "${unit_flags_${name}}")
    check_c_compiler_flag("${flags}" BULKHASH_COMPILER_HAS_${upper})
    if(BULKHASH_COMPILER_HAS_${upper})
      list(APPEND bulkhash_targets ${name})
      list(APPEND have_definitions BH_HAVE_${upper}=1)
    endif()
  endforeach()
endif()
list(JOIN bulkhash_targets " " names)
message(STATUS "bulkhash: instruction sets: ${names}")

function(bulkhash_library_part name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE bulkhash_flags Threads::Threads)
  # The check of what the machine can do must not be merged with code compiled for more than
  # that, so no link-time optimisation even where a surrounding project asks for it.
  set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()

# For what nobody times: compiled soon rather than fast. Instrumented by AddressSanitizer, a unit takes gcc a minute
# and a half with -O2, one with -O1, and a third of that with -Og.
set(bulkhash_untimed -O1)
# Where AddressSanitizer looks at the vector units for what cores run, the scalar unit is what the tests' module for
# GPUs has (tests/CMakeLists.txt): without prefetching.
set(scalar_definitions)
if(BULKHASH_SANITIZE STREQUAL "address")
  set(bulkhash_untimed -Og)
  if(avx2 IN_LIST bulkhash_targets)
    set(scalar_definitions BH_BRINGS=0)
  endif()
endif()

# The unit of a target, of which each design's kernels are an object of their own: with several processors that is compiled
# sooner. Sets unit_NAME_objects.
function(bulkhash_unit name)
  set(objects $<TARGET_OBJECTS:unit_${name}>)
  bulkhash_library_part(unit_${name} ${PROJECT_SOURCE_DIR}/src/cpu/unit_target.c)
  set(parts unit_${name})
  foreach(design ${designs})
    bulkhash_library_part(unit_${name}_${design} ${PROJECT_SOURCE_DIR}/src/cpu/unit.c)
    target_compile_definitions(unit_${name}_${design} PRIVATE BH_THIS_DESIGN="tables/${design}/design.h")
    list(APPEND parts unit_${name}_${design})
    list(APPEND objects $<TARGET_OBJECTS:unit_${name}_${design}>)
  endforeach()
  foreach(part ${parts})
    target_compile_options(${part} PRIVATE ${unit_flags_${name}})
    if(name STREQUAL "scalar")
      target_compile_definitions(${part} PRIVATE ${scalar_definitions})
    endif()
    if(BULKHASH_SANITIZE STREQUAL "address")
      target_compile_options(${part} PRIVATE ${bulkhash_untimed})
    endif()
  endforeach()
  set(unit_${name}_objects ${objects} PARENT_SCOPE)
endfunction()

bulkhash_library_part(bulkhash_objects ${library_sources})
target_compile_definitions(bulkhash_objects PRIVATE ${have_definitions})
if(BULKHASH_SANITIZE STREQUAL "thread")
  # Several tasks also in the small tables that there is time for.
  target_compile_definitions(bulkhash_objects PRIVATE BH_DY_PASS_BUCKETS=64)
endif()
set(all_objects $<TARGET_OBJECTS:bulkhash_objects>)
foreach(name ${bulkhash_targets})
  bulkhash_unit(${name})
  list(APPEND all_objects ${unit_${name}_objects})
endforeach()

add_library(bulkhash SHARED ${all_objects})
add_library(bulkhash::bulkhash ALIAS bulkhash)
set_target_properties(bulkhash PROPERTIES
  LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(bulkhash INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(bulkhash PRIVATE
  $<BUILD_INTERFACE:bulkhash_flags> Threads::Threads ${CMAKE_DL_LIBS})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT BULKHASH_SANITIZE)
  # Sanitizers leave their own functions undefined in a shared library.
  target_link_options(bulkhash PRIVATE -Wl,--no-undefined)
endif()

# The same objects as libbulkhash.a, beside libbulkhash.so.
add_library(bulkhash_static STATIC ${all_objects})
add_library(bulkhash::bulkhash_static ALIAS bulkhash_static)
set_target_properties(bulkhash_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME bulkhash)
target_include_directories(bulkhash_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(bulkhash_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# For tests and benchmarks that look inside: in the static library nothing is hidden from the linker.
add_library(bulkhash_internal INTERFACE)
target_include_directories(bulkhash_internal INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(bulkhash_internal INTERFACE bulkhash_static)

# A special build: the whole library once more for one target that is there for tests and counts
# (src/targets/NAME.h; of NAME_VARIANT the same), as the static library bulkhash_NAME, with definitions that make a table
# small. Whoever links it is compiled with the same definitions, so that it can look inside, and
# defines what the target leaves to it.
function(bulkhash_special_build name)
  string(REGEX REPLACE "_.*" "" target ${name})
  string(TOUPPER ${target} upper)
  set(definitions BH_TARGET_${upper}=1 ${ARGN})
  add_library(bulkhash_${name} STATIC EXCLUDE_FROM_ALL ${library_sources} ${unit_sources})
  target_include_directories(bulkhash_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(bulkhash_${name} PUBLIC ${definitions}
    PRIVATE BH_SPECIAL_TARGET="${target}")
  target_compile_options(bulkhash_${name} PRIVATE ${bulkhash_untimed})
  target_link_libraries(bulkhash_${name} PRIVATE bulkhash_flags
    PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  list(TRANSFORM definitions PREPEND -D)
  set(unit_flags_${name} ${definitions} -DBH_SPECIAL_TARGET="${target}" PARENT_SCOPE)
endfunction()

# Interleavings are explored on the smallest tables there can be: one bucket of two slots per
# subtable, slices of two elements, searches of a few buckets, ordered calls in chunks of a few;
# HashFight with generations, regions and rounds of a handful of keys each; DACHash with nodes of one
# slot, whose buckets are split one by one, and lists of two nodes; Stadium hashing with two tickets in a
# word, two words in a line, and parts that are split from the beginning. A gate that was held alone is
# entered in both ways at once. A table has stripes from the second change of another thread on.
set(sim_small BH_SLICE_MOST=2 BH_LONE_ELEMENTS=0u BH_GATE_COUNTED=1u BH_BIAS_AFTER=1u
  BH_STRIPES=2u BH_STRIPES_AFTER=1u BH_STRIPES_PART=1u BH_STRIPE_ROOM_LEAST=1u BH_STRIPE_ROOM_PART=1u BH_FIRST_TIMES=1u
  BH_FOLD_SAMPLE=2u BH_FOLD_TWINS=1u
  BH_ORDERED_LEAST=3u BH_ORDERED_THREADS=1u BH_ORDERED_CHUNK=6u BH_ORDERED_PART=2u BH_ORDERED_WAVE=2u
  BH_ORDERED_GRAIN=2u BH_DISTINCT_LEAST=2u BH_DISTINCT_LEAST_MIXED=2u)
bulkhash_special_build(sim ${sim_small}
  BH_DY_SLOTS_MOST=2u BH_DY_SMALL_BUCKETS=1 BH_DY_FLOOR_SLOTS=1 BH_DY_SEARCH_MOST=32u BH_DY_LISTED_MOST=1u
  BH_HF_BUFFER_MOST=2 BH_HF_REGION_KEYS=4 BH_HF_TAIL_KEYS=1 BH_HF_TAIL_LEAST=1 BH_HF_MERGE_FACTOR=1
  BH_HF_CHUNK_MOST=4
  BH_DA_SLOTS_MOST=1u BH_DA_RANGE_LEAST=1 BH_DA_BUNCH_MOST=2u
  BH_ST_WORDS=2u BH_ST_GROUP_MOST=2u BH_ST_PART_BYTES=1u
  BH_FRONT_GROUP=2u BH_FRONT_LEAST=2u BH_FRONT_AGAIN_LEAST=1u BH_FAR_BYTES=0u)
# Once more with the text that a GPU runs (BH_BRINGS), where that differs most: Stadium hashing by halves of lines, which
# have eight words then. So there are more keys. The smallest tables have one line, and are split when they have two.
bulkhash_special_build(sim_gpu ${sim_small} BH_BRINGS=0
  BH_MORE_ALONE=1 BH_MORE_DESIGNS="tables/stadium/design.h"
  BH_ST_GROUP_MOST=2u BH_ST_PART_BYTES=600u SCENE_KEYS=24u)
# And with Stadium hashing's front for cores, which knows lines of eight words of eight tickets: then a look at a line is eight
# accesses (src/targets/sim.h), and a slice one group of two.
bulkhash_special_build(sim_front ${sim_small}
  BH_MORE_ALONE=1 BH_MORE_DESIGNS="tables/stadium/design.h" BH_SIM_WHOLE_LINES=1
  BH_ST_GROUP_MOST=8u BH_ST_PART_BYTES=2400u BH_ST_LOCKS_MANY=1u BH_ST_WORDS_LEAST=2u SCENE_KEYS=24u BH_FRONT_GROUP=2u BH_FRONT_LEAST=2u BH_FAR_BYTES=0u)
# Lines are counted of pairs of 4+4 bytes.
bulkhash_special_build(lines BH_UNIT_NARROW=1)
set(bulkhash_special_builds sim sim_gpu sim_front lines)
