// Shared by configurations of models with latent attention.
#pragma once

#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// A class's default sizes; 0: required in the file.
struct LatentDefaults {
  int64_t query_rank = 0, latent = 0, plain_dims = 0, rope_dims = 0, value_dims = 0;
};

// A model of llama_like()'s form whose layers have latent attention, with its rope.
nn::DecoderOptions latent_like(const Config& config, const Defaults& defaults,
                               const LatentDefaults& latent);

// The effect of yarn's mscale_all_dim on the scores: their scale times the square of its magnitude.
void scale_by_yarn(const Config& config, nn::DecoderOptions& model);

}  // namespace pippin::models
