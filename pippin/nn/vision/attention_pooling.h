// One vector for an image: a learned query that attends to the states of all patches.
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

// SigLIP's: from states (batch, patches, features) to (batch, 1, features): x = attention(probe,
// states), then x + mlp(norm(x)). The tensors are "probe" (1, 1, features),
// "attention.in_proj_weight" with the rows of queries, keys and values, "attention.in_proj_bias",
// "attention.out_proj", "layernorm" and "mlp".
array::Array attention_pooled(const Parameters& parameters, const AttentionPoolingOptions& options,
                              const array::Array& states);

// AIMv2's: the query is "cls_token" (1, 1, features) itself, "k_proj" and "v_proj" project the
// states, and "output_proj" the result.
struct TokenPoolingOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  bool bias = false;  // of keys and values
};

// From (batch, patches, features) to (batch, 1, features).
array::Array token_pooled(const Parameters& parameters, const TokenPoolingOptions& options,
                          const array::Array& states);

}  // namespace pippin::nn
