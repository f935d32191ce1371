// Compressed convolutional attention (Figliolia et al. 2025) as in ZAYA: two causal convolutions,
// one for each feature and one for each head, are applied to queries and keys and added to them;
// half of the values come from the previous token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ConvolvedAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  int64_t first_taps = 2, second_taps = 2;  // of the convolutions
  bool bias = false;                        // of the projections
  std::optional<size_t> rope;
  std::optional<int64_t> window;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
