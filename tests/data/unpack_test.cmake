# Tests the results and messages of cmake/unpack.cmake. cmake -DWORK=... -DSOURCE_DIR=... -P unpack_test.cmake
set(folder "${WORK}/a folder/data")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/in/one" "${WORK}/in/two")
file(WRITE "${WORK}/in/one/first.txt" "1")
string(REPEAT "0123456789abcdef" 65536 large)
file(WRITE "${WORK}/in/two/large.bin" "${large}")
foreach(name one two)
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar cJf ${WORK}/${name}.tar.xz ${name} WORKING_DIRECTORY ${WORK}/in
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(unpack ${CMAKE_COMMAND} -P ${SOURCE_DIR}/cmake/unpack.cmake)

# expect_contents(NAME...): the folder contains exactly these, and nothing is left next to it.
function(expect_contents)
  file(GLOB found RELATIVE "${folder}" "${folder}/*")
  list(REMOVE_ITEM found .unpacked)
  file(GLOB beside RELATIVE "${WORK}/a folder" "${WORK}/a folder/*")
  if(NOT found STREQUAL "${ARGN}" OR NOT beside STREQUAL "data;data.lock")
    message(FATAL_ERROR "the folder has ${found} and not ${ARGN}; next to it are: ${beside}")
  endif()
endfunction()

function(expect_failure words)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "${words}")
    message(FATAL_ERROR "status ${status} and not a failure with '${words}': ${output}")
  endif()
endfunction()

execute_process(COMMAND ${unpack} "${folder}" ${WORK}/one.tar.xz COMMAND_ERROR_IS_FATAL ANY)
expect_contents(one)

# A second run changes nothing.
file(WRITE "${folder}/mine.txt" "")
execute_process(COMMAND ${unpack} "${folder}" ${WORK}/one.tar.xz COMMAND_ERROR_IS_FATAL ANY)
expect_contents(mine.txt one)

# Several at once, and archives that have changed.
execute_process(
  COMMAND ${unpack} "${folder}" ${WORK}/one.tar.xz ${WORK}/two.tar.xz
  COMMAND ${unpack} "${folder}" ${WORK}/one.tar.xz ${WORK}/two.tar.xz
  COMMAND ${unpack} "${folder}" ${WORK}/one.tar.xz ${WORK}/two.tar.xz COMMAND_ERROR_IS_FATAL ANY)
expect_contents(one two)

# An archive that cannot be unpacked leaves the old contents. A limit on the file size stands for a full disk.
expect_failure("absent.tar.xz: no such file" ${unpack} "${folder}" ${WORK}/absent.tar.xz)
expect_contents(one two)
file(WRITE ${WORK}/broken.tar.xz "no archive")
expect_failure("broken.tar.xz cannot be unpacked into ${WORK}/a folder: " ${unpack} "${folder}" ${WORK}/broken.tar.xz)
expect_contents(one two)
file(WRITE "${WORK}/in/one/first.txt" "2")
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cJf ${WORK}/one.tar.xz one WORKING_DIRECTORY ${WORK}/in COMMAND_ERROR_IS_FATAL ANY)
expect_failure("two.tar.xz cannot be unpacked into ${WORK}/a folder: .*Is the disk full"
  sh -c "ulimit -f 100 && exec \"$@\"" sh ${unpack} "${folder}" ${WORK}/one.tar.xz ${WORK}/two.tar.xz)
expect_contents(one two)
file(READ "${folder}/one/first.txt" content)
if(NOT content STREQUAL "1")
  message(FATAL_ERROR "half of the archives was unpacked")
endif()
file(REMOVE_RECURSE "${WORK}")
