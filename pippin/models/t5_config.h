// What T5's encoder and decoder share of their configuration.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/models/config.h"
#include "pippin/nn/attention.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/norm.h"
#include "pippin/nn/relative_bias.h"

namespace pippin::models {

struct T5Config {
  explicit T5Config(const Config& config);

  nn::AttentionOptions attention() const;
  nn::MLPOptions mlp() const;

  int64_t vocab_size, width, head_dim, inner_width, encoder_layers, decoder_layers, heads;
  int64_t context;  // distances have no end: n_positions, or what is enough for most texts
  std::string embedding = "shared";
  nn::NormOptions norm;
  nn::Activation activation;
  bool gated;
  nn::RelativeBiasOptions bias;
};

}  // namespace pippin::models
