// Which form the packed matrices of a checkpoint have (nn/weights/packed_weights.h), by its
// configuration.
#pragma once

#include "pippin/models/config/config.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::models {

// What "quantization_config", "compression_config" or MLX's "quantization" names; null where there
// is none of them. Which modules are packed the checkpoint says itself: lists of exceptions and
// settings of single modules are not needed. Throws Unsupported, naming it, for a form that is not
// read.
nn::PackedWeightsPtr packed_weights(const Config& config);

}  // namespace pippin::models
