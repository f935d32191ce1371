// The functions that define the module's parts.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

void bind_tensors(pybind11::module_& module);       // Tensor
void bind_features(pybind11::module_& module);      // FeatureInfo
void bind_states(pybind11::module_& module);        // State
void bind_functions(pybind11::module_& module);     // Function, CancelToken
void bind_models(pybind11::module_& module);        // Model
void bind_sampling(pybind11::module_& module);      // Sampler, LogitsProcessor
void bind_generation(pybind11::module_& module);    // Generation, Logits
void bind_language(pybind11::module_& module);      // LanguageModel, Sequence
void bind_tokenizer(pybind11::module_& module);     // Tokenizer, TextStream, ChatTemplate
void bind_tools(pybind11::module_& module);         // convert, compress, inspect, verify, pull
void bind_encoders(pybind11::module_& module);      // TextEncoder
void bind_images(pybind11::module_& module);        // ImageEncoder
void bind_transcribers(pybind11::module_& module);  // Transcriber, SegmentStream
void bind_packages(pybind11::module_& module);      // ModelPackage
void bind_storage(pybind11::module_& module);       // _BlobStorageWriter, _BlobStorageReader
void bind_structure(pybind11::module_& module);     // structure, operation_costs, compile_model
void bind_decoders(pybind11::module_& module);      // _decoder_options
void bind_gguf_weights(pybind11::module_& module);  // _gguf_weights

}  // namespace pippin::python
