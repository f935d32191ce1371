// What every causal language model of the `stateful` family shares: the interface around its
// layers.
#pragma once

#include <cstdint>

#include "pippin/mil/package.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/parameters.h"

namespace pippin::models {

nn::Precision precision(const BuildOptions& options);

// Records the function `main` and describes it: inputIds int32 (1, q) and causalMask (1, 1, q, end)
// with 1 <= q, end <= context; states keyCache and valueCache; output logits.
mil::Model record_causal_lm(const nn::DecoderOptions& options, int64_t context,
                            const nn::Parameters& parameters);

}  // namespace pippin::models
