// A perceiver resampler (Alayrac et al. 2022, Flamingo), as Idefics 2 has it: learned vectors that
// attend to the rows of an image and to each other become a fixed number of rows.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct PerceiverResamplerOptions {
  int64_t features = 0;
  int64_t num_latents = 0, num_layers = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  NormOptions norm;
  Activation activation = Activation::Silu;
};

// From rows (batch, rows, features) to (batch, latents, features): in each layer x += attention(x,
// rows); x += mlp(x), after norms of both inputs. The tensors are "latents" (latents, features),
// "layers.N" with "input_latents_norm", "input_context_norm", "self_attn", whose keys and values
// are those of the rows, then those of the latents, "post_attention_layernorm" and "mlp", which is
// four times as wide, and "norm".
array::Array perceiver_resampled(const Parameters& parameters,
                                 const PerceiverResamplerOptions& options,
                                 const array::Array& rows);

}  // namespace pippin::nn
