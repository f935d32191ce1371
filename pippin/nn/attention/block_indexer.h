// MiniMax-M3's choice of keys by blocks: small heads, one for each group of queries, score every
// key. A block's score is that of its best key; a query sees the best blocks and its nearest ones.
// The cache keeps the keys of the small heads.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/nn/attention/score_bias.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct BlockIndexerOptions {
  int64_t features = 0;
  int64_t num_heads = 0;            // of attention
  int64_t heads = 0, head_dim = 0;  // its own
  int64_t block = 0;                // keys of a block
  int64_t top_blocks = 0;           // that a query sees, with
  int64_t local_blocks = 0;         // its own one and those before it
  NormOptions norm;                 // of each head of queries and keys

  std::unique_ptr<const ScoreBias> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
