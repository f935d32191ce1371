// The packed form of a checkpoint's matrices (nn/weights/packed_weights.h), by its configuration.
#pragma once

#include "pippin/models/config/config.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::models {

// The form named by "quantization_config", "compression_config" or MLX's "quantization", or that of
// GGUF files for a configuration made of one; null if all are absent. The checkpoint itself shows
// which modules are packed: lists of exceptions and settings of single modules are not needed.
// Throws Unsupported, by name, for an unknown form.
nn::PackedWeightsPtr packed_weights(const Config& config);

}  // namespace pippin::models
