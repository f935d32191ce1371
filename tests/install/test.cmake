# Installs the build into a fresh folder, builds examples/ with that and nothing else, and runs them, as a user of the
# library does.
#
# With the shared library and with the archives.
#
#   cmake -DBINARY_DIR=... -DSOURCE_DIR=... -DCXX=... -DFLAGS=... -DBUILD_TYPE=... -DPYTHON=... [-DSHARED=ON] -P test.cmake
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
set(expected pippin/api/call.h pippin/api/device.h pippin/api/image_encoder.h pippin/api/llm.h pippin/api/model.h pippin/api/tensor.h pippin/api/text_encoder.h pippin/api/transcriber.h pippin/base/byte_span.h pippin/base/call_context.h
  pippin/base/threads/cancel.h pippin/base/cpu_features.h pippin/base/exception.h pippin/base/export.h pippin/base/numbers/float16.h pippin/base/threads/fork.h pippin/chat/message.h
  pippin/engine/cache_type.h pippin/engine/compute_options.h pippin/mx.h pippin/mx/core/array.h pippin/mx/ops/binary.h pippin/mx/core/buffer.h pippin/mx/export/compile.h pippin/mx/ops/conv.h pippin/mx/ops/create.h pippin/mx/core/dtype.h
  pippin/mx/export/export.h pippin/mx/ops/fast.h pippin/mx/core/index.h pippin/mx/io/io.h pippin/mx/ops/matmul.h
  pippin/mx/nn/activations.h pippin/mx/nn/config.h pippin/mx/nn/layers.h pippin/mx/nn/module.h pippin/mx/nn/quantized.h pippin/mx/core/node.h pippin/mx/ops/quantized.h pippin/mx/ops/random.h pippin/mx/ops/reduce.h
  pippin/mx/core/ref.h pippin/mx/ops/scan_sort.h pippin/mx/core/shape.h pippin/mx/ops/shape_ops.h pippin/mx/core/small_vector.h pippin/mx/ops/unary.h pippin/nn.h pippin/runtime/batch.h pippin/runtime/embedded_rows.h pippin/runtime/generator.h pippin/runtime/load_options.h pippin/runtime/model.h
  pippin/runtime/row_ids.h pippin/runtime/row_memory.h pippin/runtime/row_runs.h pippin/runtime/sampling/candidates.h pippin/runtime/sampling/logprobs.h
  pippin/runtime/sampling/options.h pippin/runtime/sampling/processor.h pippin/runtime/sampling/random.h pippin/runtime/sequence.h
  pippin/runtime/sequence_rows.h pippin/runtime/source.h pippin/runtime/statistics.h pippin/runtime/vision_prompt.h pippin/speech/options.h pippin/speech/transcription.h pippin/speech/writers/formats.h pippin/tokenizers/tokenizer.h)
if(SHARED)
  list(PREPEND expected pippin.h)
endif()
list(SORT headers)
list(SORT expected)
if(NOT headers STREQUAL expected)
  message(FATAL_ERROR "installed headers: ${headers}; expected: ${expected}")
endif()

run(out ${work}/prefix/bin/pippin --version)
set(prompt "Tell me a story about a fox called Mia.")
run(story ${work}/prefix/bin/pippin run --no-stats -n 256 ${prompt})
file(WRITE ${work}/lines "${prompt}\nWhat can you do?\n")
file(COPY ${SOURCE_DIR}/examples DESTINATION ${work})

function(check_examples kind)
  run(log ${CMAKE_COMMAND} -S ${work}/examples -B ${work}/${kind} -G Ninja -DCMAKE_PREFIX_PATH=${work}/prefix
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} ${ARGN})
  run(log ${CMAKE_COMMAND} --build ${work}/${kind})
  run(out ${work}/${kind}/predict ${CMAKE_CURRENT_LIST_DIR}/add_half.mlmodelc)
  if(NOT out STREQUAL "x: float32 [1, 3]\ny: 0.5 0.5 0.5\n")
    message(FATAL_ERROR "${kind}: the example printed:\n${out}")
  endif()
  # Error is the same class on both sides.
  execute_process(COMMAND ${work}/${kind}/predict ${work}/absent.mlpackage ERROR_VARIABLE out RESULT_VARIABLE status)
  if(NOT status EQUAL 1 OR NOT out STREQUAL
      "${work}/absent.mlpackage: no such package\n")
    message(FATAL_ERROR "${kind}: status ${status} for a file that is not there:\n${out}")
  endif()

  # The chat example answers like the program, and continues from there.
  execute_process(COMMAND ${work}/${kind}/chat INPUT_FILE ${work}/lines OUTPUT_VARIABLE out ERROR_VARIABLE notes
    RESULT_VARIABLE status)
  string(FIND "${out}" "${story}" place)
  if(NOT status EQUAL 0 OR NOT place EQUAL 0 OR out STREQUAL story)
    message(FATAL_ERROR "${kind}, chat: status ${status}, it printed:\n${out}${notes}\npippin run printed:\n${story}")
  endif()

  # So does the example written with arrays.
  run(out ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/llama_test.py ${work}/${kind}/llama ${work}/prefix/bin/pippin)
endfunction()

check_examples(static -DSTATIC=ON)
if(SHARED)
  # Without any of the packages that Pippin is built with.
  foreach(package CURL fmt JPEG OpenSSL PNG Protobuf PkgConfig Threads)
    list(APPEND absent -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
  endforeach()
  check_examples(shared ${absent})
  file(GLOB_RECURSE library ${work}/prefix/libpippin.so.0)
  run(log ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/check_symbols.py ${work}/prefix/include ${library})
  run(log ldd -r ${work}/shared/chat)
  if(NOT log MATCHES "libpippin.so.0 => ${work}/prefix" OR log MATCHES "undefined symbol|not found")
    message(FATAL_ERROR "the example is linked to:\n${log}")
  endif()

  # From C, through pkg-config.
  cmake_path(GET library PARENT_PATH libraries)
  set(ENV{PKG_CONFIG_PATH} ${libraries}/pkgconfig)
  set(ENV{LD_LIBRARY_PATH} ${libraries})
  run(flags pkg-config --cflags --libs pippin)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  foreach(example predict answer)
    run(log cc -std=c11 -pedantic -Wall -Wextra -Werror -o ${work}/${example}_c ${work}/examples/${example}.c ${flags})
  endforeach()
  run(out ${work}/predict_c ${CMAKE_CURRENT_LIST_DIR}/add_half.mlmodelc)
  if(NOT out STREQUAL "x: float32 [1, 3]\ny: 0.5 0.5 0.5\n")
    message(FATAL_ERROR "the example of C printed:\n${out}")
  endif()
  execute_process(COMMAND ${work}/predict_c ${work}/absent.mlpackage ERROR_VARIABLE out RESULT_VARIABLE status)
  if(NOT status EQUAL 1 OR NOT out STREQUAL "${work}/absent.mlpackage: no such package\n")
    message(FATAL_ERROR "C: status ${status} for a file that is not there:\n${out}")
  endif()
  execute_process(COMMAND ${work}/answer_c ${prompt} OUTPUT_VARIABLE out RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT out STREQUAL story)
    message(FATAL_ERROR "C, answer: status ${status}, it printed:\n${out}\npippin run printed:\n${story}")
  endif()
endif()
file(REMOVE_RECURSE ${work})
