// Lightning attention (Qin et al. 2024; MiniMax-01): attention without a softmax, whose keys and
// values are accumulated in a state that decays at a fixed rate for each head. "qkv_proj" has for
// each head the rows of query, key and value, which pass through silu; the result is normalized,
// multiplied by sigmoid("output_gate"), and goes through "out_proj".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct LightningAttentionOptions {
  int64_t features = 0;
  int64_t heads = 0, head_dim = 0;
  std::vector<double>
      rates;  // of the heads, above 0: a token counts exp(-rate) as much as the next
  Activation activation = Activation::Silu;
  NormOptions norm;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
