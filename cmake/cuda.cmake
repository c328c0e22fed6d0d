# The module for GPUs (src/cuda/module.h), wherever the CUDA toolkit is. The library finds it at run
# time, so nothing else depends on it.

set(BULKHASH_CUDA AUTO CACHE STRING "Build the module for NVIDIA GPUs: ON, OFF, or AUTO (when nvcc is there)")

if(BULKHASH_CUDA STREQUAL "OFF" OR BULKHASH_SANITIZE)
  return()
endif()
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

file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/*.cu)
set(cuda_schedule ${PROJECT_SOURCE_DIR}/src/cuda/schedule.cu)
list(REMOVE_ITEM cuda_sources ${cuda_schedule})

# The schedules to compare, each from the same source: threads of a tile, and whether lanes
# collaborate.
set(cuda_schedules)
foreach(schedule 1_0 4_0 8_0 16_0 32_0 1_1)
  string(REPLACE "_" ";" parameters ${schedule})
  list(GET parameters 0 tile)
  list(GET parameters 1 lanes)
  add_library(bulkhash_cuda_${schedule} OBJECT ${cuda_schedule})
  target_compile_definitions(bulkhash_cuda_${schedule} PRIVATE BH_CUDA_TILE=${tile} BH_CUDA_LANES=${lanes})
  set_target_properties(bulkhash_cuda_${schedule} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  list(APPEND cuda_schedules bulkhash_cuda_${schedule})
endforeach()
# For tests of histories the kernels of one pair of widths stamp what they do.
set(cuda_update ${PROJECT_SOURCE_DIR}/src/cuda/update.cu)
list(REMOVE_ITEM cuda_sources ${cuda_update})
add_library(bulkhash_cuda_others OBJECT ${cuda_sources})
set_target_properties(bulkhash_cuda_others PROPERTIES POSITION_INDEPENDENT_CODE ON)
set(cuda_parts bulkhash_cuda_others ${cuda_schedules})
add_library(bulkhash_cuda SHARED ${cuda_update})
add_library(bulkhash_cuda_stamped MODULE EXCLUDE_FROM_ALL ${cuda_update})
target_compile_definitions(bulkhash_cuda_stamped PRIVATE BH_CUDA_STAMPS=1)
foreach(part ${cuda_parts})
  target_sources(bulkhash_cuda PRIVATE $<TARGET_OBJECTS:${part}>)
  target_sources(bulkhash_cuda_stamped PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
foreach(part bulkhash_cuda bulkhash_cuda_stamped ${cuda_parts})
  target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(BULKHASH_WERROR)
    target_compile_options(${part} PRIVATE --Werror all-warnings)
  endif()
endforeach()
# Our own kernels shall not spill. A few of CUB's do, by some bytes.
set(own_kernels ${cuda_sources} ${cuda_update} ${cuda_schedule})
list(REMOVE_ITEM own_kernels ${PROJECT_SOURCE_DIR}/src/cuda/primitives.cu)
set_property(SOURCE ${own_kernels} APPEND PROPERTY COMPILE_OPTIONS -Xptxas=-warn-spills)
set_target_properties(bulkhash_cuda PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
