// Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads are computed from
// one short vector for each token. The cache keeps only that, and a few rotated dimensions of the
// key that all heads share.
//
// The matrices that compute a head's keys and values from that vector are multiplied into the
// queries and the results instead (absorbed): every head then reads the same cache, as one head of
// wide keys, whose values are the first part of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/nn/attention/indexer.h"
#include "pippin/nn/attention/temperature.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct LatentAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t query_rank = 0;       // queries are computed from a vector of that many elements; 0: from
                                // the input
  int64_t latent = 0;           // elements of a token's vector
  int64_t plain_dims = 0;       // of a query and its key, without rotation
  int64_t rope_dims = 0;        // those with rotation
  int64_t value_dims = 0;       // of a head
  bool bias = false;            // of the projections from and to the features, except a plain
                                // q_proj
  bool interleaved = true;      // the checkpoint rotates neighbouring pairs
  std::optional<double> scale;  // of the scores; 1 / sqrt(plain_dims + rope_dims) if absent
  double latent_scale = 1.0;    // of the vector, after its norm
  std::optional<Temperature> temperature;  // of queries
  size_t rope = 0;                         // index of the model's rope
  NormOptions norm;                        // of the two vectors

  // q_b_proj has a gate after each head's query, whose sigmoid multiplies the head's result, and
  // its input is the narrow vector before its norm (A.X K2).
  bool gated = false;

  // Keys are chosen by an indexer, "indexer", or taken from the last one's choice.
  std::optional<IndexerOptions> indexer;
  bool chosen_before = false;

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
