// What every causal language model of the `stateful` family shares: the interface around its
// layers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/package.h"
#include "pippin/models/registry.h"
#include "pippin/nn/attention.h"
#include "pippin/nn/parameters.h"

namespace pippin::models {

struct CausalLM {
  int64_t context = 0;
  int64_t num_layers = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
};

// From the token ids (1, q) to the logits (1, q, vocabulary).
using Forward =
    std::function<array::Array(const array::Array& ids, nn::KVCache& cache, const nn::Pass& pass)>;

nn::Precision precision(const BuildOptions& options);

// Records the function `main` and describes it: inputIds int32 (1, q) and causalMask (1, 1, q, end)
// with 1 <= q, end <= context; states keyCache and valueCache; output logits.
mil::Model record_causal_lm(const CausalLM& shape, const BuildInput& input, const Forward& forward);

}  // namespace pippin::models
