# What can be chosen, and the flags that everything of this project is compiled with.

set(BULKHASH_SANITIZE "" CACHE STRING
  "empty, address (AddressSanitizer and UndefinedBehaviorSanitizer) or thread (ThreadSanitizer)")
set_property(CACHE BULKHASH_SANITIZE PROPERTY STRINGS "" address thread)
option(BULKHASH_WERROR "Warnings are errors" OFF)
set(BULKHASH_PROGRAM AUTO CACHE STRING
  "Build the program bulkhash: ON, OFF, or AUTO (when zlib is there)")
set(BULKHASH_TESTS AUTO CACHE STRING
  "Build the tests: ON, OFF, or AUTO (when cmocka is there)")
set(BULKHASH_PEERS AUTO CACHE STRING
  "Compare with other hash tables in bulkhash-bench: OFF, or AUTO (those that are there)")

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(bulkhash_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla)

# Everything of the project links this; nothing of it reaches those who use the library.
add_library(bulkhash_flags INTERFACE)
target_compile_options(bulkhash_flags INTERFACE ${bulkhash_warnings})
if(BULKHASH_WERROR)
  target_compile_options(bulkhash_flags INTERFACE -Werror)
endif()

if(BULKHASH_SANITIZE STREQUAL "address")
  # `undefined` does not hold conversions of numbers that the integer type has not.
  set(sanitize_flags -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
elseif(BULKHASH_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread)
elseif(BULKHASH_SANITIZE)
  message(FATAL_ERROR "BULKHASH_SANITIZE is \"${BULKHASH_SANITIZE}\"; it can be empty, address or thread.")
endif()
if(BULKHASH_SANITIZE)
  # -UNDEBUG: where errors are looked for, assertions are on whatever the build type says.
  target_compile_options(bulkhash_flags INTERFACE ${sanitize_flags} -fno-omit-frame-pointer -UNDEBUG)
  target_link_options(bulkhash_flags INTERFACE ${sanitize_flags})
endif()
