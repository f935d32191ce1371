#include "pippin/nn/attention/block_indexer.h"

#include <limits>
#include <string>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/nn/attention/best_keys.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

using array::Array;

constexpr double kLargestScore = std::numeric_limits<double>::infinity();

class BlockIndexer final : public ScoreBias {
 public:
  BlockIndexer(const Parameters& parameters, const BlockIndexerOptions& options)
      : path_(parameters.path()),
        options_(options),
        queries_(parameters.at("q_proj"), options.features, options.heads * options.head_dim),
        keys_(parameters.at("k_proj"), options.features, options.head_dim),
        query_norm_(parameters.at("q_norm"), options.head_dim, options.norm, Norm::Of::Heads),
        key_norm_(parameters.at("k_norm"), options.head_dim, options.norm, Norm::Of::Heads) {}

  Array operator()(const Array& x, const Array& /*values*/,
                   const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array own = turned(key_norm_(heads_of(keys_(x), 1)), *input.rotation);
    const Array keys = input.cache.update_index(input.layer, own, input.pass);
    const Array queries =
        turned(query_norm_(heads_of(queries_(x), options_.heads)), *input.rotation);
    const Array scores = array::matmul(queries, keys, false, /*transpose_y=*/true) + *input.mask;
    const Array best = best_keys(of_blocks(scores, input.pass), options_.top_blocks, path_);
    const Array never = array::constant(x.type(), -kLargestScore);
    const Array is_seen = array::cast(array::greater(best, never), x.type());
    const Array by_key = array::gather(is_seen, blocks_of(0, input.pass.end), -1);
    const int64_t group = options_.num_heads / options_.heads;
    const Array tiled = array::tile(array::expand_dims(by_key, {2}), {1, 1, group, 1, 1});
    const Array seen = array::reshape(tiled, {1, options_.num_heads, x.dim(1), input.pass.end});
    // Broadcasts the mask to each head, since the condition alone does not.
    const Array mask = *input.mask + seen * 0.0;
    return array::select(array::greater(seen, array::constant(x.type(), 0.0)), mask, never);
  }

 private:
  Array heads_of(const Array& x, int64_t heads) const {
    return array::transpose(array::reshape(x, {1, x.dim(1), heads, options_.head_dim}),
                            {0, 2, 1, 3});
  }

  // Uses the first angles of attention's heads, as many as the elements need.
  Array turned(const Array& x, const Rotation& rotation) const {
    const int64_t dims = rotation.cos.dim(3).constant(), own = options_.head_dim;
    if (dims <= own) return rotate(x, rotation);
    return rotate(x, {array::slice_axis(rotation.cos, 3, 0, own),
                      array::slice_axis(rotation.sin, 3, 0, own)});
  }

  // Numbers of the blocks of positions [begin, end).
  Array blocks_of(const mil::Dim& begin, const mil::Dim& end) const {
    array::Builder& builder = array::Builder::current();
    const Array places = array::range(builder.dim_array(begin), builder.dim_array(end));
    return array::floor_divide(places, array::constant(static_cast<int32_t>(options_.block)));
  }

  // (1, heads, q, blocks) of the scores of keys; the last block may be padded.
  Array of_blocks(const Array& scores, const Pass& pass) const {
    const int64_t block = options_.block;
    const mil::Dim count = floor_div(pass.end + mil::Dim(block - 1), mil::Dim(block));
    const std::vector<int64_t> padding = {0, 0, 0, 0, 0, 0, 0, block - 1};
    const Array padded = array::record_one(
        "pad", {{"x", scores},
                {"pad", padding},
                {"constant_val", mil::Value::of_float(scores.type(), -kLargestScore)}});
    const Array whole = array::slice_axis(padded, 3, 0, count * mil::Dim(block));
    const Array split =
        array::reshape(whole, {1, options_.heads, pass.query, count, mil::Dim(block)});
    const Array largest = array::reduce_max(split, {4});
    // The distance in blocks from each block to the query's own.
    const Array rows = array::expand_dims(blocks_of(pass.past, pass.end), {0, 1, 3});
    const Array places =
        array::range(array::constant(0), array::Builder::current().dim_array(count));
    const Array distance = rows - array::expand_dims(places, {0, 1, 2});
    const Array is_local = array::logical_and(
        array::greater_equal(distance, array::constant(0)),
        array::less(distance, array::constant(static_cast<int32_t>(options_.local_blocks))));
    return array::select(is_local, array::constant(scores.type(), kLargestScore), largest);
  }

  std::string path_;
  BlockIndexerOptions options_;
  Linear queries_, keys_;
  Norm query_norm_, key_norm_;
};

}  // namespace

std::unique_ptr<const ScoreBias> BlockIndexerOptions::make(const Parameters& parameters) const {
  return std::make_unique<BlockIndexer>(parameters.at("indexer"), *this);
}

}  // namespace pippin::nn
