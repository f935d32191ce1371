// Attention in (1, features, 1, q), one head at a time: the form of Apple's "Deploying Transformers
// on the Apple Neural Engine", used by the package families `windowed` and `whisperkit`.
#include <algorithm>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/nn/attention/attention.h"

namespace pippin::nn {

using array::Array;
using array::Index;

Array Attention::turned_heads(const Projection& projection, const Array& x,
                              const Rotation* rotation) const {
  using Place = QkNorm::Place;
  constexpr int64_t kDims = 2;
  const Place place = projection.norm ? options_.qk_norm.place : Place::None;
  Array y = projection.linear(x);
  const auto clipped = [&](bool normed) {
    const bool here = options_.clip && options_.clip_normed == normed;
    return here ? array::clip(y, -*options_.clip, *options_.clip) : y;
  };
  y = clipped(false);
  if (place == Place::Projection) y = (*projection.norm)(y);
  y = clipped(true);
  y = array::reshape(y, {1, projection.heads, options_.head_dim, y.dim(3)});
  if (place == Place::BeforeRope) y = (*projection.norm)(y);
  if (rotation != nullptr) y = rotate(y, *rotation, kDims);
  if (place == Place::AfterRope) y = (*projection.norm)(y);
  return y;
}

Array Attention::attend_in_channels(const Array& queries, const Array& keys, const Array& values,
                                    const Array* mask, LayerCarry& carry) const {
  const int64_t group = options_.num_heads / options_.num_kv_heads;
  const int64_t masks = mask == nullptr ? 0 : mask->dim(1).constant();
  const std::vector<int64_t> watched = std::exchange(carry.watched_heads, {});
  const auto head_of = [](const Array& x, int64_t head) {
    return array::slice(x, {Index::all(), Index::at(head)});
  };
  const auto product = [](std::string_view equation, const Array& x, const Array& y) {
    return array::record_one("einsum",
                             {{"values", std::vector<Array>{x, y}}, {"equation", equation}});
  };
  std::vector<Array> heads;
  std::optional<Array> key, value, added;
  for (int64_t head = 0; head < options_.num_heads; ++head) {
    if (head % group == 0) {
      const Array own_key = head_of(keys, head / group), own_value = head_of(values, head / group);
      key = array::expand_dims(array::transpose(own_key, {0, 2, 1}), {2});
      value = array::expand_dims(own_value, {2});
    }
    if (head < masks) {
      const Array own =
          masks == 1 ? *mask : array::slice(*mask, {Index::all(), Index::range(head, head + 1)});
      added = array::transpose(own, {0, 2, 1, 3});
    }
    const Array query = array::expand_dims(head_of(queries, head), {2});
    const Array scores = softcapped(product("bkhc,bchq->bkhq", *key, query) * scale());
    const Array weights = array::softmax(added ? scores + *added : scores, 1);
    if (std::find(watched.begin(), watched.end(), head) != watched.end()) {
      carry.weights.push_back(array::transpose(weights, {0, 2, 3, 1}));
    }
    heads.push_back(product("bchk,bkhq->bchq", *value, weights));
  }
  return heads.size() == 1 ? heads[0] : array::concat(heads, 1);
}

std::pair<Array, Array> Attention::seen_in_channels(const Array& tokens,
                                                    const MixerInput& input) const {
  if (options_.keys_of) return input.cache.seen(*options_.keys_of);
  const Array keys = turned_heads(*k_, tokens, input.rotation);
  Array values = v_->linear(tokens);
  if (options_.clip) values = array::clip(values, -*options_.clip, *options_.clip);
  const auto [all_keys, all_values] = input.cache.update(input.layer, keys, values, input.pass);
  // Values come back as they were given if the cache has no others.
  const mil::Shape heads = {1, options_.num_kv_heads, options_.head_dim, all_keys.dim(3)};
  const bool is_split = all_values.dim(1) == mil::Dim(options_.num_kv_heads);
  return {all_keys, is_split ? all_values : array::reshape(all_values, heads)};
}

Array Attention::in_channels(const Array& x, const MixerInput& input) const {
  const mil::Dim tokens = x.dim(2) * x.dim(3);
  const Array flat = style_.fold > 0 ? array::reshape(x, {1, x.dim(1), 1, tokens}) : x;
  const Array queries = turned_heads(q_, flat, input.rotation);
  const auto [keys, values] = seen_in_channels(flat, input);
  Array attended = attend_in_channels(queries, keys, values, input.mask, input.carry);
  if (style_.fold > 0) {
    attended =
        array::reshape(attended, {1, options_.num_heads * options_.head_dim, x.dim(2), x.dim(3)});
  }
  return o_(output_norm_ ? (*output_norm_)(attended) : attended);
}

}  // namespace pippin::nn
