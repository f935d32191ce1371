// Attention whose scores have a part for the content of query and key, and a part for the content
// of the query and its distance to the key (Dai et al., Transformer-XL; Shaw et al.):
//
//   score(i, j) = ((q_i + u) · k_j + (q_i + v) · r_(i-j)) / sqrt(head_dim)
//
// r is a projection of sinusoids that all layers share, or a table with a row for each distance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/dim.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RelativeAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;
  bool bias = true;  // of all matrices but that of the positions
  std::string query = "q_proj", key = "k_proj", value = "v_proj", output = "o_proj";
  // u and v, (num_heads, head_dim); empty names: none.
  std::string content_bias, position_bias;
  std::string positions = "relative_k_proj";  // the projection of the sinusoids
  // In place of them "weight" of this table, (before + 1 + after, head_dim): its first row is for
  // keys `before` or more frames before the query, its last one for `after` or more after it.
  std::string table;
  int64_t before = 0, after = 0;

  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

class RelativeAttention final : public Mixer {
 public:
  RelativeAttention(const Parameters& parameters, const RelativeAttentionOptions& options);

  // `input.relative`: the sinusoids below, null with a table.
  array::Array operator()(const array::Array& x, const MixerInput& input) const override;

 private:
  array::Array heads(const array::Array& x) const;  // (1, heads, q, head_dim)
  // A row for each distance from length - 1 down to 1 - length: (1, heads or 1, rows, head_dim).
  array::Array distances(const mil::Dim& length, const array::Array* sinusoids) const;

  std::string path_;
  RelativeAttentionOptions options_;
  Linear q_, k_, v_, o_;
  std::optional<Linear> positions_;
  std::optional<array::Array> table_, content_bias_, position_bias_;
};

// The sine and cosine of each distance from length - 1 down to 1 - length, alternating, of
// wavelengths in a geometric series: (1, 2 * length - 1, features).
array::Array sinusoids_of_distances(const mil::Dim& length, int64_t features, mil::DataType type);

}  // namespace pippin::nn
