# Writes the C file that says which commit the benchmark was built from:
#   cmake -D SOURCE=FOLDER -D OUTPUT=FILE -P commit.cmake
#
# Run at every build, because a commit changes no file that the build depends on. OUTPUT is left
# alone when it says the right thing already, so that nothing is compiled for it.

set(commit unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  # A copy of the sources inside another project's work tree has a prefix; that commit is not ours.
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-prefix
    WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE prefix ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND prefix STREQUAL "")
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12
      WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE described ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0)
      set(commit ${described})
      # As --dirty of git describe, but what `make results` writes is no change: the next file that
      # it measures is of the same sources.
      execute_process(COMMAND ${GIT_EXECUTABLE} diff --quiet HEAD -- . :!docs/results :!README.md
        WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(NOT status EQUAL 0)
        string(APPEND commit -dirty)
      endif()
    endif()
  endif()
endif()

set(text "#include \"commit.h\"\n\nconst char bench_commit[] = \"${commit}\";\n")
set(old)
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
