# Installs the build into a fresh folder, builds examples/ against that and nothing else, and runs
# it: what someone does who uses Pippin as a library.
#
#   cmake -DBINARY_DIR=... -DSOURCE_DIR=... -DCXX=... -DFLAGS=... -DBUILD_TYPE=... -P test.cmake
set(work ${BINARY_DIR}/install-test)
file(REMOVE_RECURSE ${work})

function(run out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: status ${status}\n${output}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

run(log ${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${work}/prefix)
file(GLOB_RECURSE headers RELATIVE ${work}/prefix/include ${work}/prefix/include/*)
set(expected pippin/api/llm.h pippin/api/model.h pippin/api/tensor.h pippin/base/call_context.h pippin/base/cancel.h
  pippin/base/cpu_features.h pippin/base/error.h pippin/base/fork.h pippin/chat/message.h pippin/engine/compute_options.h
  pippin/generate/batch.h pippin/generate/generator.h pippin/generate/load_options.h pippin/generate/model.h
  pippin/generate/sampling/candidates.h pippin/generate/sampling/logprobs.h pippin/generate/sampling/options.h
  pippin/generate/sampling/processor.h pippin/generate/sampling/random.h pippin/generate/sequence.h pippin/generate/statistics.h)
if(NOT headers STREQUAL expected)
  message(FATAL_ERROR "installed headers: ${headers}; expected: ${expected}")
endif()

file(COPY ${SOURCE_DIR}/examples DESTINATION ${work})
run(log ${CMAKE_COMMAND} -S ${work}/examples -B ${work}/build -G Ninja -DCMAKE_PREFIX_PATH=${work}/prefix
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
run(log ${CMAKE_COMMAND} --build ${work}/build)
run(out ${work}/build/predict ${CMAKE_CURRENT_LIST_DIR}/add_half.mlmodelc)
if(NOT out STREQUAL "x: float32 [1, 3]\ny: 0.5 0.5 0.5\n")
  message(FATAL_ERROR "the example printed:\n${out}")
endif()
run(out ${work}/prefix/bin/pippin --version)

# The example of a chat says what the program says, and goes on from there.
set(prompt "Tell me a story about a fox called Mia.")
run(story ${work}/prefix/bin/pippin run --no-stats -n 256 ${prompt})
file(WRITE ${work}/lines "${prompt}\nWhat can you do?\n")
execute_process(COMMAND ${work}/build/chat INPUT_FILE ${work}/lines OUTPUT_VARIABLE out ERROR_VARIABLE notes RESULT_VARIABLE status)
string(FIND "${out}" "${story}" place)
if(NOT status EQUAL 0 OR NOT place EQUAL 0 OR out STREQUAL story)
  message(FATAL_ERROR "chat: status ${status}, it printed:\n${out}${notes}\npippin run printed:\n${story}")
endif()
file(REMOVE_RECURSE ${work})
