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

# The design that tests of histories are told of.
list(GET designs 0 first_design)

# Sources of src/cuda/device once more, with definitions: the part NAME of modules. Parts are compiled
# for the modules that have them.
set(cuda_device ${PROJECT_SOURCE_DIR}/src/cuda/device)
function(bulkhash_cuda_part name sources)
  add_library(bulkhash_cuda_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_compile_definitions(bulkhash_cuda_${name} PRIVATE ${ARGN})
  target_include_directories(bulkhash_cuda_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(bulkhash_cuda_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(BULKHASH_WERROR)
    target_compile_options(bulkhash_cuda_${name} PRIVATE --Werror all-warnings)
  endif()
endfunction()

# The schedules to compare, each from the same source: threads of a tile, and the way (kernels.h): 0 an
# element for each tile, 1 collaborative lanes, 2 a voter.
set(compared)
set(module_definitions)
if(BULKHASH_COMPARED)
  set(compared 1_0 4_0 8_0 16_0 32_0 1_1 4_2 8_2 16_2 32_2)
  set(module_definitions BH_CUDA_COMPARED=1)
endif()

# What operations of a design do, whose declaration is the design.h of FOLDER, a folder as an #include
# names it below ROOT: the parts whose names are then in cuda_update_DESIGN and cuda_rest_DESIGN; none
# where they only look up.
function(bulkhash_cuda_design root folder)
  get_filename_component(design ${folder} NAME)
  set(this_design BH_THIS_DESIGN="${folder}/design.h")
  set(update)
  set(rest)
  file(STRINGS ${root}/${folder}/design.h declared REGEX "^#define BH_DESIGN_")
  if(NOT declared MATCHES BH_DESIGN_LOOKUPS_ONLY)
    bulkhash_cuda_part(find_${design} ${cuda_device}/find.cu ${this_design})
    bulkhash_cuda_part(update_${design} ${cuda_device}/update.cu ${this_design} BH_CUDA_APART=0)
    set(update update_${design})
    set(rest find_${design})
    if(declared MATCHES BH_DESIGN_APART)
      bulkhash_cuda_part(apart_${design} ${cuda_device}/update.cu ${this_design} BH_CUDA_APART=1)
      list(APPEND rest apart_${design})
    endif()
    foreach(schedule ${compared})
      string(REPLACE "_" ";" parameters ${schedule})
      list(GET parameters 0 tile)
      list(GET parameters 1 way)
      bulkhash_cuda_part(${schedule}_${design} ${cuda_device}/schedule.cu ${this_design}
        BH_CUDA_TILE=${tile} BH_CUDA_WAY=${way})
      list(APPEND rest ${schedule}_${design})
    endforeach()
  endif()
  set(cuda_update_${design} ${update} PARENT_SCOPE)
  set(cuda_rest_${design} ${rest} PARENT_SCOPE)
endfunction()

# For tests of histories the kernels of one pair of widths stamp what they do: the part stamps_DESIGN,
# which stands for update_DESIGN.
function(bulkhash_cuda_stamps folder)
  get_filename_component(design ${folder} NAME)
  bulkhash_cuda_part(stamps_${design} ${cuda_device}/update.cu BH_THIS_DESIGN="${folder}/design.h"
    BH_CUDA_APART=0 BH_CUDA_STAMPS=1)
endfunction()

# A module of the parts that follow; KIND is SHARED or MODULE.
function(bulkhash_cuda_module name kind)
  add_library(${name} ${kind})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CUDA)
  foreach(part ${ARGN})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:bulkhash_cuda_${part}>)
  endforeach()
endfunction()

# module.cu asks the list of designs for their kernels.
bulkhash_cuda_part(module ${cuda_device}/module.cu ${module_definitions})
file(GLOB cuda_sources CONFIGURE_DEPENDS ${cuda_device}/*.cu ${cuda_device}/*/*.cu)
foreach(source schedule find update module)
  list(REMOVE_ITEM cuda_sources ${cuda_device}/${source}.cu)
endforeach()
bulkhash_cuda_part(others "${cuda_sources}" ${module_definitions})

# cuda_shared is what modules with more designs have too.
set(cuda_shared others)
set(updates)
foreach(design ${designs})
  bulkhash_cuda_design(${PROJECT_SOURCE_DIR}/src tables/${design})
  list(APPEND updates ${cuda_update_${design}})
  list(APPEND cuda_shared ${cuda_rest_${design}})
endforeach()
bulkhash_cuda_module(bulkhash_cuda SHARED module ${cuda_shared} ${updates})
set_target_properties(bulkhash_cuda PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

bulkhash_cuda_stamps(tables/${first_design})
set(stamped ${updates})
list(TRANSFORM stamped REPLACE "^update_(${first_design})$" "stamps_\\1")
bulkhash_cuda_module(bulkhash_cuda_stamped MODULE module ${cuda_shared} ${stamped})
set_target_properties(bulkhash_cuda_stamped PROPERTIES EXCLUDE_FROM_ALL ON)
list(APPEND cuda_shared ${updates})

# Our own kernels shall not spill. A few of CUB's do, by some bytes.
set(own_kernels ${cuda_sources})
list(REMOVE_ITEM own_kernels ${cuda_device}/primitives.cu)
foreach(source schedule find update module)
  list(APPEND own_kernels ${cuda_device}/${source}.cu)
endforeach()
set_property(SOURCE ${own_kernels} APPEND PROPERTY COMPILE_OPTIONS -Xptxas=-warn-spills)
