// One vector for an image: a learned query that attends to the states of all patches, as SigLIP has
// it.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct AttentionPoolingOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  NormOptions norm;
  MLPOptions mlp;
};

// From states (batch, patches, features) to (batch, 1, features): x = attention(probe, states),
// then x + mlp(norm(x)). The tensors are "probe" (1, 1, features), "attention.in_proj_weight" with
// the rows of queries, keys and values, "attention.in_proj_bias", "attention.out_proj", "layernorm"
// and "mlp".
array::Array attention_pooled(const Parameters& parameters, const AttentionPoolingOptions& options,
                              const array::Array& states);

}  // namespace pippin::nn
