// The architectures (architectures.inc): one function each, in the file of its name. It reads a
// configuration, checks it, and describes the model; no weights are loaded.
#pragma once

#include <string_view>

#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

#define PIPPIN_ARCHITECTURE(model_type, class_name, describe) \
  nn::DecoderOptions describe(const Config& config);
#include "pippin/models/architectures.inc"
#undef PIPPIN_ARCHITECTURE

// The architecture of a configuration's model_type, or `fallback` if it has none. Throws
// Unsupported for an unknown one.
nn::DecoderOptions describe_architecture(const Config& config, std::string_view fallback);

// Qwen's windows: use_sliding_window, sliding_window, max_window_layers, layer_types.
void slide_qwen(const Config& config, nn::DecoderOptions& model);
// Shared by Gemma 2 and 3: four norms a layer, (1 + w), scaled embeddings, windows.
nn::DecoderOptions gemma_like(const Config& config, const Defaults& defaults,
                              std::string_view activation_key);

}  // namespace pippin::models
