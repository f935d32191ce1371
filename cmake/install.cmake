# cmake --install: the program, the library as static archives and as a shared library, the public headers, and the
# files for find_package(pippin) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(pippin_api PROPERTIES EXPORT_NAME pippin)
add_library(pippin::pippin ALIAS pippin_api)
# Arrays are installed with it, also for users of the archives.
target_link_libraries(pippin_api INTERFACE $<INSTALL_INTERFACE:pippin::pippin_mx>)

install(TARGETS pippin RUNTIME)
# pippin::pippin first; the others are its dependencies.
install(TARGETS pippin_api pippin_app pippin_speech pippin_runtime pippin_models pippin_nn pippin_mx pippin_array pippin_compress pippin_coreml pippin_cuda pippin_engine pippin_kernels
  pippin_mil pippin_mil_proto pippin_tabular pippin_tabular_proto pippin_model_output pippin_constrain pippin_chat pippin_tokenizers pippin_hub pippin_batch pippin_sound pippin_image pippin_io pippin_demo pippin_base pippin_options
  EXPORT pippin-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET pippin_shared)
  install(TARGETS pippin_shared EXPORT pippin-shared-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # C has only the shared library.
  install(FILES pippin/c/pippin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  file(RELATIVE_PATH up_to_include /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(cmake/pippin.pc.in ${PROJECT_BINARY_DIR}/pippin.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pippin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
foreach(header api/call.h api/device.h api/image_encoder.h api/llm.h api/model.h api/tensor.h api/text_encoder.h api/transcriber.h base/byte_span.h base/call_context.h base/threads/cancel.h base/cpu_features.h
    base/exception.h base/export.h base/numbers/float16.h base/threads/fork.h chat/message.h engine/cache_type.h engine/compute_options.h mx/core/array.h mx/ops/binary.h mx/core/buffer.h mx/export/compile.h mx/ops/conv.h mx/ops/create.h mx/core/dtype.h
    mx/export/export.h mx/ops/fast.h mx/core/index.h mx/io/io.h mx/ops/matmul.h mx/nn/activations.h mx/nn/config.h mx/nn/layers.h mx/nn/module.h
    mx/nn/quantized.h mx/core/node.h mx/ops/quantized.h mx/ops/random.h mx/ops/reduce.h mx/core/ref.h mx/ops/scan_sort.h mx/core/shape.h
    mx/ops/shape_ops.h mx/core/small_vector.h mx/ops/unary.h runtime/batch.h runtime/embedded_rows.h runtime/generator.h
    runtime/load_options.h runtime/model.h runtime/row_ids.h runtime/row_memory.h runtime/row_runs.h runtime/sampling/candidates.h runtime/sampling/logprobs.h
    runtime/sampling/options.h runtime/sampling/processor.h runtime/sampling/random.h runtime/sequence.h runtime/sequence_rows.h
    runtime/source.h
    runtime/statistics.h runtime/vision_prompt.h speech/options.h speech/transcription.h speech/writers/formats.h tokenizers/tokenizer.h)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES pippin/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pippin/${folder})
endforeach()

# The headers that include all of these.
install(FILES pippin/mx/mx.h pippin/mx/nn/nn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pippin)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pippin)
install(EXPORT pippin-targets NAMESPACE pippin:: DESTINATION ${package_dir})
if(TARGET pippin_shared)
  install(EXPORT pippin-shared-targets NAMESPACE pippin:: DESTINATION ${package_dir})
endif()
configure_package_config_file(cmake/pippin-config.cmake.in ${PROJECT_BINARY_DIR}/pippin-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pippin-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pippin-config.cmake ${PROJECT_BINARY_DIR}/pippin-config-version.cmake
  DESTINATION ${package_dir})
