// What configurations of models with latent attention have in common.
#pragma once

#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// Sizes that a class has where a file has none; 0: the file has to say.
struct LatentDefaults {
  int64_t query_rank = 0, latent = 0, plain_dims = 0, rope_dims = 0, value_dims = 0;
};

// A model of llama_like()'s form whose layers have latent attention, with the rope that it turns.
nn::DecoderOptions latent_like(const Config& config, const Defaults& defaults,
                               const LatentDefaults& latent);

// What yarn's mscale_all_dim makes of the scores: their scale times the square of its magnitude.
void scale_by_yarn(const Config& config, nn::DecoderOptions& model);

}  // namespace pippin::models
