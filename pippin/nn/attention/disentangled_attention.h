// Attention whose scores have a part for the content of query and key, and parts for the content of
// one and the relative position of the other (He et al., DeBERTa, versions 2 and 3):
//
//   score(i, j) = (q_i · k_j + q_i · kr_(i-j) + k_j · qr_(i-j)) / sqrt(parts * head_dim)
//
// where kr and qr are projections of a table that all layers share. Distances beyond a limit share
// its rows in ranges of logarithmic size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The table (2 * span, features), and the row of each distance.
struct RelativePositions {
  int64_t span = 0;
  int64_t buckets = 0;       // 0: a row for each distance up to the span
  int64_t max_distance = 0;  // with buckets

  // The row of a key `distance` positions before the query (below 0: after it).
  int64_t row(int64_t distance) const;
};

struct DisentangledAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;
  bool content_to_position = true, position_to_content = true;
  bool shared_projections = true;  // kr and qr by key's and query's matrices, else by their own
  RelativePositions positions;
  // DeBERTa 1: one matrix for q, k and v, head by head, under this name; biases of q and v alone,
  // tensors of their own; none for kr. An empty name: matrices of their own with biases.
  std::string fused, query_bias = "q_bias", value_bias = "v_bias";
  std::string query = "query_proj", key = "key_proj", value = "value_proj", output = "dense",
              position_key = "pos_key_proj", position_query = "pos_query_proj";

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

class DisentangledAttention final : public Mixer {
 public:
  DisentangledAttention(const Parameters& parameters, const DisentangledAttentionOptions& options);

  // `input.relative` is the table.
  array::Array operator()(const array::Array& x, const MixerInput& input) const override;

 private:
  array::Array heads(const array::Array& x) const;  // (batch, heads, q, head_dim)
  // tokens · the rows of the table by distance, at the places of the scores: rows for `tokens`,
  // columns for the other side.
  array::Array by_distance(const array::Array& tokens, const array::Array& projected,
                           bool tokens_are_queries) const;

  std::string path_;
  DisentangledAttentionOptions options_;
  Linear q_, k_, v_;
  std::optional<Linear> position_key_, position_query_;
  Linear o_;
};

}  // namespace pippin::nn
