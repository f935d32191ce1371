// WavLM's gate of relative positions: each token computes a factor for each head, by which the
// biases of its scores are multiplied. The biases are the mask (nn/attention/relative_bias.h).
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/attention/score_bias.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct GatedMaskOptions {
  int64_t num_heads = 0;
  int64_t head_dim = 0;

  std::unique_ptr<const ScoreBias> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
