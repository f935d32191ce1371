# cmake -DSOURCE=FOLDER -DOUTPUT=FILE.cpp -P commit.cmake: writes the function that names the commit of these sources
# (pippin/cli/version.h). A file that says the same already is left alone, so that nothing is compiled anew.
set(commit unknown)
file(READ ${SOURCE}/cmake/commit.txt archived)
find_program(git git)
if(archived MATCHES "^[0-9a-f]+")
  set(commit ${CMAKE_MATCH_0})
elseif(git)
  # Sources may lie unpacked in a repository of something else: only at its top the commit is theirs.
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
