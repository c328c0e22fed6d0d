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
set(CMAKE_CUDA_COMPILER ${BULKHASH_NVCC})
set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)

file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/*.cu)
list(REMOVE_ITEM cuda_sources ${PROJECT_SOURCE_DIR}/src/cuda/unit.cu)
add_library(bulkhash_cuda SHARED ${cuda_sources})
target_include_directories(bulkhash_cuda PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(bulkhash_cuda PRIVATE "SHELL:-Xptxas -warn-spills")
if(BULKHASH_WERROR)
  target_compile_options(bulkhash_cuda PRIVATE --Werror all-warnings)
endif()
set_target_properties(bulkhash_cuda PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
