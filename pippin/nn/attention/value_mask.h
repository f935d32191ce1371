// Doge's dynamic mask (Shi et al. 2024): exp(A * softplus(dt_proj(values))), computed from a key's
// value, is added to all scores of that key. Of more than `keep` keys, only those with the largest
// are seen.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/attention/score_bias.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ValueMaskOptions {
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  int64_t keep = 0;
  bool bias = false;  // of dt_proj

  std::unique_ptr<const ScoreBias> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
