// Shared by the configurations of T5's encoder and decoder, and those of mT5 and UMT5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/models/config/config.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/attention/relative_bias.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"

namespace pippin::models {

struct T5Config {
  explicit T5Config(const Config& config);

  nn::AttentionOptions attention() const;
  nn::MLPOptions mlp() const;

  int64_t vocab_size = 0, width = 0, head_dim = 0, inner_width = 0;
  int64_t encoder_layers = 0, decoder_layers = 0, heads = 0;
  int64_t context = 0;  // distances are unlimited: n_positions, or a default that is enough for
                        // most texts
  std::string embedding = "shared";
  nn::NormOptions norm;
  nn::Activation activation = nn::Activation::Relu;
  bool gated = false, tied = true;  // tied: the head is the embedding
  bool bias_of_each_layer = false;  // else that of the first one
  std::optional<int64_t> radius;    // tokens on each side that the encoder sees (LongT5)
  nn::RelativeBiasOptions bias;
};

}  // namespace pippin::models
