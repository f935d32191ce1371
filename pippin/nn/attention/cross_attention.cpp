#include "pippin/nn/attention/cross_attention.h"

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/encoder_decoder.h"

namespace pippin::nn {

using array::Array;
using array::Index;

CrossStates::CrossStates(array::Builder& builder, mil::DataType type,
                         const std::vector<int64_t>& dims)
    : keys_(builder.state(families::encoder_decoder::kCrossKeys, type, dims)),
      values_(builder.state(families::encoder_decoder::kCrossValues, type, dims)) {}

void CrossStates::write(int64_t layer, const Array& keys, const Array& values) {
  const auto put = [&](array::State& state, const Array& rows) {
    const std::vector<Index> place = {Index::at(layer), Index::all(), Index::all(),
                                      Index::range(0, rows.dim(2))};
    array::write_state(state, array::slice_update(array::read_state(state), rows, place));
  };
  put(keys_, keys);
  put(values_, values);
}

std::pair<Array, Array> CrossStates::read(int64_t layer, const mil::Dim& source) const {
  const std::vector<Index> place = {Index::at(layer), Index::all(), Index::all(),
                                    Index::range(0, source)};
  const Array keys = array::slice(array::read_state(keys_), place);
  return {keys, array::slice(array::read_state(values_), place)};
}

CrossProjection::CrossProjection(const Parameters& parameters, const AttentionOptions& options)
    : options_(options),
      key_(parameters.at(options.key), options.features, options.num_kv_heads * options.head_dim,
           options.has_key_bias()),
      value_(parameters.at(options.value), options.features,
             options.num_kv_heads * options.head_dim, options.qkv_bias) {
  const QkNorm& norm = options.qk_norm;
  if (norm.place == QkNorm::Place::None) return;
  if (norm.place == QkNorm::Place::Projection || norm.weights != QkNorm::Weights::Shared) {
    fail(ErrorCode::Internal, "'{}': norms of a source's keys are those of heads alone",
         parameters.path());
  }
  key_norm_.emplace(parameters.at(norm.key), options.head_dim, norm.norm, Norm::Of::Heads);
}

std::pair<Array, Array> CrossProjection::operator()(const Array& states) const {
  const auto heads = [&](const Array& x) {
    if (x.rank() == 4) {
      return array::reshape(x, {1, options_.num_kv_heads, options_.head_dim, x.dim(3)});
    }
    const Array split = array::reshape(x, {1, x.dim(1), options_.num_kv_heads, options_.head_dim});
    return array::transpose(split, {0, 2, 1, 3});
  };
  const Array keys = heads(key_(states));
  return {key_norm_ ? (*key_norm_)(keys) : keys, heads(value_(states))};
}

std::pair<Array, Array> CrossCache::update(int64_t /*layer*/, const Array& /*keys*/,
                                           const Array& /*values*/, const Pass& /*pass*/) {
  fail(ErrorCode::Internal, "a layer adds keys to a source");
}

std::pair<Array, Array> MergedCache::update(int64_t layer, const Array& keys, const Array& values,
                                            const Pass& pass) {
  const auto [own_keys, own_values] = own_.update(layer, keys, values, pass);
  const auto [source_keys, source_values] = states_.read(layer, source_);
  return {array::concat({own_keys, source_keys}, 2), array::concat({own_values, source_values}, 2)};
}

}  // namespace pippin::nn
