#include "pippin/nn/attention/disentangled_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;

Linear separate(const Parameters& parameters, const std::string& name,
                const DisentangledAttentionOptions& options, bool bias = true) {
  return Linear(parameters.at(name), options.features, options.num_heads * options.head_dim, bias);
}

// `part`: 0, 1 and 2 for q, k and v.
Linear projection(const Parameters& parameters, const DisentangledAttentionOptions& options,
                  int64_t part) {
  const std::string* const names[] = {&options.query, &options.key, &options.value};
  if (options.fused.empty()) return separate(parameters, *names[part], options);
  const int64_t width = options.num_heads * options.head_dim;
  WeightLayout layout{.stored_rows = 3 * width, .rows = {}, .part = std::string(1, "qkv"[part])};
  for (int64_t head = 0; head < options.num_heads; ++head) {
    for (int64_t i = 0; i < options.head_dim; ++i) {
      layout.rows.push_back((head * 3 + part) * options.head_dim + i);
    }
  }
  const Parameters at = parameters.at(options.fused);
  at.check("weight", {layout.stored_rows, options.features});
  const Array weight = at.get("weight", {width, options.features}, layout);
  std::optional<Array> bias;
  if (part == 0) bias = parameters.get(options.query_bias, {width});
  if (part == 2) bias = parameters.get(options.value_bias, {width});
  return Linear(at.path() + "." + layout.part, weight, bias);
}

}  // namespace

// In fp32, like training code: at the borders of ranges, the row of a distance depends on the
// rounding.
int64_t RelativePositions::row(int64_t distance) const {
  int64_t place = distance;
  const int64_t middle = buckets / 2;
  if (buckets > 0 && std::abs(distance) > middle) {
    const float ratio = static_cast<float>(std::abs(distance)) / static_cast<float>(middle);
    const auto most =
        static_cast<float>(static_cast<double>(max_distance - 1) / static_cast<double>(middle));
    const float steps =
        std::ceil(std::log(ratio) / std::log(most) * static_cast<float>(middle - 1));
    place = (static_cast<int64_t>(steps) + middle) * (distance < 0 ? -1 : 1);
  }
  return std::clamp<int64_t>(place + span, 0, 2 * span - 1);
}

DisentangledAttention::DisentangledAttention(const Parameters& parameters,
                                             const DisentangledAttentionOptions& options)
    : path_(parameters.path()),
      options_(options),
      q_(projection(parameters, options, 0)),
      k_(projection(parameters, options, 1)),
      v_(projection(parameters, options, 2)),
      o_(parameters.at(options.output), options.num_heads * options.head_dim, options.features,
         true) {
  if (options.shared_projections) return;
  if (options.content_to_position) {
    position_key_ =
        separate(parameters, options.position_key, options, /*bias=*/options.fused.empty());
  }
  if (options.position_to_content) {
    position_query_ = separate(parameters, options.position_query, options);
  }
}

Array DisentangledAttention::heads(const Array& x) const {
  const Array split =
      array::reshape(x, {x.dim(0), x.dim(1), options_.num_heads, options_.head_dim});
  return array::transpose(split, {0, 2, 1, 3});
}

// The products with the rows of 2 n distances; each token's row is then shifted by one more than
// the previous one: column c of token t is the other side's position c - n + t. In one flat row of
// numbers, that is a cut and another width:
//
//    t = 0   . . 0 1        (n = 2; numbers are positions of the other side, dots: no position)
//    t = 1   . 0 1 .        cut n in front, rows of 2 n - 1:   0 1 . | 0 1 .
//
Array DisentangledAttention::by_distance(const Array& tokens, const Array& projected,
                                         bool tokens_are_queries) const {
  const mil::Dim& n = tokens.dim(2);
  const int64_t most = n.upper();
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(2 * most));
  for (int64_t column = -most; column < most; ++column) {
    // The other side is `column` positions after the token.
    rows.push_back(options_.positions.row(tokens_are_queries ? -column : column));
  }
  const mil::Dim middle = most;
  const Array used = array::slice_axis(array::constant(rows), 0, middle - n, middle + n);
  const Array by_column =
      array::transpose(array::reshape(array::gather(projected, used),
                                      {mil::Dim(2) * n, options_.num_heads, options_.head_dim}),
                       {1, 0, 2});
  const Array products =
      array::matmul(tokens, array::expand_dims(by_column, {0}), false, /*transpose_y=*/true);
  const mil::Dim& batch = tokens.dim(0);
  const mil::Dim all = n * n * 2;
  const Array line = array::reshape(products, {batch, options_.num_heads, all});
  const Array cut = array::slice_axis(line, 2, n, all);
  const Array shifted =
      array::slice_axis(array::reshape(cut, {batch, options_.num_heads, n, n * 2 - 1}), 3, 0, n);
  return tokens_are_queries ? shifted : array::transpose(shifted, {0, 1, 3, 2});
}

Array DisentangledAttention::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const Array queries = heads(q_(x));
  const Array keys = heads(k_(x));
  const Array values = heads(v_(x));
  const int parts =
      1 + (options_.content_to_position ? 1 : 0) + (options_.position_to_content ? 1 : 0);
  const double scale = 1 / std::sqrt(static_cast<double>(options_.head_dim * parts));
  Array mask = *input.mask;
  if (options_.content_to_position) {
    const Array rows = (position_key_ ? *position_key_ : k_)(*input.relative);
    mask = mask + by_distance(queries * scale, rows, true);
  }
  if (options_.position_to_content) {
    const Array rows = (position_query_ ? *position_query_ : q_)(*input.relative);
    mask = mask + by_distance(keys * scale, rows, false);
  }
  // The op divides by sqrt(head_dim) itself.
  const Array scaled = queries * (scale * std::sqrt(static_cast<double>(options_.head_dim)));
  const Array attended = array::scaled_dot_product_attention(scaled, keys, values, mask);
  return o_(array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                           {x.dim(0), x.dim(1), options_.num_heads * options_.head_dim}));
}

MixerNeeds DisentangledAttentionOptions::needs() const {
  MixerNeeds needs;
  needs.name = "disentangled attention";
  needs.kv_heads = num_heads;
  needs.head_dim = head_dim;
  return needs;
}

std::unique_ptr<const Mixer> DisentangledAttentionOptions::make(
    const Parameters& parameters) const {
  return std::make_unique<DisentangledAttention>(parameters, *this);
}

}  // namespace pippin::nn
