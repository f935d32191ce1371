// DeepSeek-V4's attention (2026): one head of keys, which are the values too, for all heads of
// queries; a window of them, and beyond it keys of whole blocks of tokens
// (nn/attention/key_compressor.h), all of them or those that an indexer chooses. What the values
// were turned by is undone in the result.
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
  int64_t query_rank = 0;               // of the vector that queries are made of
  int64_t groups = 0, output_rank = 0;  // of the output's first matrix: one for each group
  size_t rope = 0;                      // which of the model's ropes
  int64_t window = 0;
  NormOptions norm;
  std::optional<KeyCompressorOptions> blocks;
  // Chooses `top_k` blocks for a query, by keys of its own.
  struct Chooser {
    int64_t heads = 0, top_k = 0;
    KeyCompressorOptions blocks;
  };
  std::optional<Chooser> chooser;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
