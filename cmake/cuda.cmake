# The module for GPUs (src/cuda/module.h), wherever the CUDA toolkit is. The library finds it at run
# time, so nothing else depends on it.

set(BULKHASH_CUDA AUTO CACHE STRING "Build the module for NVIDIA GPUs: ON, OFF, or AUTO (when nvcc is there)")

if(BULKHASH_CUDA STREQUAL "OFF" OR BULKHASH_SANITIZE)
  return()
endif()
option(BULKHASH_COMPARED "Build the GPU schedules that are there to be compared; takes minutes" OFF)
find_program(BULKHASH_NVCC NAMES nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT BULKHASH_NVCC)
  if(BULKHASH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "BULKHASH_CUDA is ON, and there is no nvcc.")
  endif()
  message(STATUS "bulkhash: no nvcc, so there is no module for GPUs")
  return()
endif()

# Device code for these, and PTX of the last for what comes after.
set(BULKHASH_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs to compile the module for")
set(CMAKE_CUDA_COMPILER ${BULKHASH_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${BULKHASH_CUDA_ARCHITECTURES})
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)

# Designs: the list of src/tables/designs.h. The first is the one that schedules are compared with.
set(design_list ${PROJECT_SOURCE_DIR}/src/tables/designs.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${design_list})
file(STRINGS ${design_list} designs REGEX "^#include \"tables/[a-z]+/design.h\"")
list(TRANSFORM designs REPLACE ".*tables/([a-z]+)/.*" "\\1")
list(GET designs 0 first_design)

set(cuda_parts)
# A source of src/cuda/device once more, with definitions.
function(bulkhash_cuda_part name source design)
  add_library(bulkhash_cuda_${name} OBJECT ${PROJECT_SOURCE_DIR}/src/cuda/device/${source})
  target_compile_definitions(bulkhash_cuda_${name} PRIVATE
    BH_THIS_DESIGN="tables/${design}/design.h" ${ARGN})
  set_target_properties(bulkhash_cuda_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set(cuda_parts ${cuda_parts} bulkhash_cuda_${name} PARENT_SCOPE)
endfunction()

# The schedules to compare, each from the same source: threads of a tile, and the way (kernels.h): 0 an
# element for each tile, 1 collaborative lanes, 2 a voter.
set(compared)
if(BULKHASH_COMPARED)
  set(compared 1_0 4_0 8_0 16_0 32_0 1_1 4_2 8_2 16_2 32_2)
endif()
foreach(schedule ${compared})
  string(REPLACE "_" ";" parameters ${schedule})
  list(GET parameters 0 tile)
  list(GET parameters 1 way)
  bulkhash_cuda_part(${schedule} schedule.cu ${first_design} BH_CUDA_TILE=${tile} BH_CUDA_WAY=${way})
endforeach()

file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/device/*.cu ${PROJECT_SOURCE_DIR}/src/cuda/device/*/*.cu)
foreach(source schedule find update)
  list(REMOVE_ITEM cuda_sources ${PROJECT_SOURCE_DIR}/src/cuda/device/${source}.cu)
endforeach()
add_library(bulkhash_cuda_others OBJECT ${cuda_sources})
set_target_properties(bulkhash_cuda_others PROPERTIES POSITION_INDEPENDENT_CODE ON)
if(BULKHASH_COMPARED)
  target_compile_definitions(bulkhash_cuda_others PRIVATE BH_CUDA_COMPARED=1)
endif()
list(APPEND cuda_parts bulkhash_cuda_others)

# What operations do, of each design whose declaration does not say that they only look up.
set(updates)
foreach(design ${designs})
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/tables/${design}/design.h declared REGEX "^#define BH_DESIGN_")
  if(declared MATCHES BH_DESIGN_LOOKUPS_ONLY)
    continue()
  endif()
  bulkhash_cuda_part(find_${design} find.cu ${design})
  bulkhash_cuda_part(update_${design} update.cu ${design} BH_CUDA_APART=0)
  list(APPEND updates bulkhash_cuda_update_${design})
  if(declared MATCHES BH_DESIGN_APART)
    bulkhash_cuda_part(apart_${design} update.cu ${design} BH_CUDA_APART=1)
  endif()
endforeach()
list(REMOVE_ITEM cuda_parts ${updates})

# For tests of histories the kernels of one pair of widths stamp what they do.
add_library(bulkhash_cuda_stamps OBJECT ${PROJECT_SOURCE_DIR}/src/cuda/device/update.cu)
target_compile_definitions(bulkhash_cuda_stamps PRIVATE BH_CUDA_STAMPS=1 BH_CUDA_APART=0
  BH_THIS_DESIGN="tables/${first_design}/design.h")
set_target_properties(bulkhash_cuda_stamps PROPERTIES POSITION_INDEPENDENT_CODE ON EXCLUDE_FROM_ALL ON)

add_library(bulkhash_cuda SHARED)
add_library(bulkhash_cuda_stamped MODULE EXCLUDE_FROM_ALL)
set_target_properties(bulkhash_cuda bulkhash_cuda_stamped PROPERTIES LINKER_LANGUAGE CUDA)
foreach(part ${updates})
  target_sources(bulkhash_cuda PRIVATE $<TARGET_OBJECTS:${part}>)
  if(part STREQUAL bulkhash_cuda_update_${first_design})
    target_sources(bulkhash_cuda_stamped PRIVATE $<TARGET_OBJECTS:bulkhash_cuda_stamps>)
  else()
    target_sources(bulkhash_cuda_stamped PRIVATE $<TARGET_OBJECTS:${part}>)
  endif()
endforeach()
foreach(part ${cuda_parts})
  target_sources(bulkhash_cuda PRIVATE $<TARGET_OBJECTS:${part}>)
  target_sources(bulkhash_cuda_stamped PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
foreach(part bulkhash_cuda bulkhash_cuda_stamped bulkhash_cuda_stamps ${cuda_parts} ${updates})
  target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(BULKHASH_WERROR)
    target_compile_options(${part} PRIVATE --Werror all-warnings)
  endif()
endforeach()
# Our own kernels shall not spill. A few of CUB's do, by some bytes.
set(own_kernels ${cuda_sources})
list(REMOVE_ITEM own_kernels ${PROJECT_SOURCE_DIR}/src/cuda/device/primitives.cu)
foreach(source schedule find update)
  list(APPEND own_kernels ${PROJECT_SOURCE_DIR}/src/cuda/device/${source}.cu)
endforeach()
set_property(SOURCE ${own_kernels} APPEND PROPERTY COMPILE_OPTIONS -Xptxas=-warn-spills)
set_target_properties(bulkhash_cuda PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
