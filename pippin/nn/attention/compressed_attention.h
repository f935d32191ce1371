// DeepSeek-V4's attention (2026): one head of keys, which also serve as values, for all query
// heads. Queries see a window of keys, and beyond it keys of whole blocks of tokens
// (nn/attention/key_compressor.h): all, or those that an indexer chooses. The result is rotated
// back, since the values were rotated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/nn/attention/key_compressor.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct CompressedAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0, head_dim = 0;
  int64_t query_rank = 0;               // of the vector that queries are computed from
  int64_t groups = 0, output_rank = 0;  // of the output's first matrix: one for each group
  size_t rope = 0;                      // index of the model's rope
  int64_t window = 0;
  NormOptions norm;
  std::optional<KeyCompressorOptions> blocks;
  // Chooses `top_k` blocks for a query, with separate keys.
  struct Chooser {
    int64_t heads = 0, top_k = 0;
    KeyCompressorOptions blocks;
  };
  std::optional<Chooser> chooser;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
