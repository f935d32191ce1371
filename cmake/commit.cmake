# cmake -DSOURCE=FOLDER -DOUTPUT=FILE.cpp -P commit.cmake: writes the function that returns the commit of these sources
# (pippin/cli/version.h). An unchanged file is not rewritten, so that nothing is recompiled.
set(commit unknown)
file(READ ${SOURCE}/cmake/commit.txt archived)
find_program(git git)
if(archived MATCHES "^[0-9a-f]+")
  set(commit ${CMAKE_MATCH_0})
elseif(git)
  # The sources may be unpacked inside another repository: the commit is theirs only if they are its root.
  execute_process(COMMAND ${git} rev-parse --show-cdup WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE up RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND up STREQUAL "")
    set(ENV{GIT_OPTIONAL_LOCKS} 0)
    execute_process(COMMAND ${git} describe --always --dirty --abbrev=8 --exclude=* WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE described RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0 AND described)
      set(commit ${described})
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "pippin/cli/version.h"

const char* pippin::cli::commit() {
  return "@commit@";
}
]])
