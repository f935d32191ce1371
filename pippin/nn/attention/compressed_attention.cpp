#include "pippin/nn/attention/compressed_attention.h"

#include <cmath>
#include <limits>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/attention/best_keys.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

using array::Array;
using CompressedOptions = CompressedAttentionOptions;

// The elements that the cache keeps for each token in addition to its key: block keys, then the
// indexer's block keys.
int64_t kept_elements(const CompressedOptions& options) {
  if (!options.blocks) return 0;
  return options.blocks->size + (options.chooser ? options.chooser->blocks.size : 0);
}

// Selects the blocks that a query sees.
class BlockChooser {
 public:
  BlockChooser(const Parameters& parameters, const CompressedOptions& options)
      : path_(parameters.path()),
        options_(*options.chooser),
        compressor_(parameters.at("compressor"), options_.blocks),
        queries_(parameters.at("wq_b"), options.query_rank, options_.heads * options_.blocks.size),
        weights_(parameters.at("weights_proj"), options.features, options_.heads) {}

  Array keys(const Array& x, const MixerInput& input) const { return compressor_(x, input); }

  // The mask (1, 1, q, end) of the chosen blocks.
  Array chosen(const Array& x, const Array& narrow, const Array& keys, const Array& mask,
               const MixerInput& input) const {
    const array::Scope scope(path_);
    const int64_t heads = options_.heads, size = options_.blocks.size;
    const Array split = array::transpose(
        array::reshape(queries_(narrow), {1, x.dim(1), heads, size}), {0, 2, 1, 3});
    const Array queries = turned_last(split, *input.rotation);
    const Array products = array::relu(array::matmul(queries, keys, false, /*transpose_y=*/true));
    const double scale = 1 / std::sqrt(static_cast<double>(heads * size));
    const Array weights = array::expand_dims(array::transpose(weights_(x), {0, 2, 1}), {3}) * scale;
    const Array sums = array::reduce_sum(products * weights, {1}, /*keep_dims=*/true) + mask;
    const Array least = kth_largest(sums, options_.top_k, path_);
    const Array never = array::constant(x.type(), -std::numeric_limits<double>::infinity());
    return array::select(array::greater_equal(sums, least), mask, never);
  }

 private:
  std::string path_;
  CompressedOptions::Chooser options_;
  KeyCompressor compressor_;
  Linear queries_, weights_;
};

class CompressedAttention final : public Mixer {
 public:
  CompressedAttention(const Parameters& parameters, const CompressedOptions& options)
      : path_(parameters.path()),
        options_(options),
        query_down_(parameters.at("wq_a"), options.features, options.query_rank),
        query_(parameters.at("wq_b"), options.query_rank, options.num_heads * options.head_dim),
        key_(parameters.at("wkv"), options.features, options.head_dim),
        down_norm_(parameters.at("q_norm"), options.query_rank, options.norm),
        key_norm_(parameters.at("kv_norm"), options.head_dim, options.norm),
        query_norm_(parameters.at("q_head_norm"), options.head_dim, without_weight(options.norm),
                    Norm::Of::Heads),
        group_matrices_(parameters.at("wo_a").get(
            "weight", {options.groups * options.output_rank, group_width(options)})),
        output_(parameters.at("wo_b"), options.groups * options.output_rank, options.features),
        sinks_(parameters.get("attn_sink", {options.num_heads})) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': compressed attention has no form for this package family",
           path_);
    }
    if (options.blocks) compressor_.emplace(parameters.at("compressor"), *options.blocks);
    if (options.chooser) chooser_.emplace(parameters.at("indexer"), options);
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const int64_t heads = options_.num_heads, size = options_.head_dim;
    const mil::Dim& q = x.dim(1);
    const Array narrow = down_norm_(query_down_(x));
    const Array split =
        array::transpose(array::reshape(query_(narrow), {1, q, heads, size}), {0, 2, 1, 3});
    const double scale = 1 / std::sqrt(static_cast<double>(size));
    const Array queries = turned_last(query_norm_(split), *input.rotation) * scale;
    const Array own = turned_last(array::expand_dims(key_norm_(key_(x)), {1}), *input.rotation);
    Array keys = input.cache.update_keys(input.layer, own, input.pass);
    Array mask = *input.mask;
    if (compressor_) add_blocks(x, narrow, input, keys, mask);
    const Array attended = attend(queries, keys, mask);
    return output_(grouped(turned_back(attended, *input.rotation)));
  }

 private:
  static int64_t group_width(const CompressedOptions& options) {
    return options.num_heads * options.head_dim / options.groups;
  }

  // The keys of blocks after those of tokens, and the mask of both.
  void add_blocks(const Array& x, const Array& narrow, const MixerInput& input, Array& keys,
                  Array& mask) const {
    Array made = (*compressor_)(x, input);
    if (chooser_) made = array::concat({made, chooser_->keys(x, input)}, 3);
    const Array all = input.cache.update_index(input.layer, made, input.pass);
    const int64_t size = options_.blocks->size;
    const Array closed = closed_blocks(input.pass.mask, input.pass.end, options_.blocks->rate);
    const Array blocks = chooser_ ? array::slice_axis(all, 3, 0, size) : all;
    const Array seen =
        !chooser_ ? closed
                  : chooser_->chosen(x, narrow, array::slice_axis(all, 3, size, all.dim(3)), closed,
                                     input);
    keys = array::concat({keys, blocks}, 2);
    mask = array::concat({mask, seen}, 3);
  }

  // (1, heads, q, head_dim).
  Array attend(const Array& queries, const Array& keys, const Array& mask) const {
    const int64_t heads = options_.num_heads, size = options_.head_dim;
    const mil::Dim &q = queries.dim(2), &count = keys.dim(2);
    const Array rows = array::reshape(queries, {1, 1, mil::Dim(heads) * q, mil::Dim(size)});
    const Array products = array::matmul(rows, keys, false, /*transpose_y=*/true);
    const Array scores = array::reshape(products, {1, heads, q, count}) + mask;
    const Array repetitions =
        array::Builder::current().dims_array({mil::Dim(1), mil::Dim(1), q, mil::Dim(1)});
    const Array sinks = array::record_one(
        "tile", {{"x", array::reshape(sinks_, {1, heads, 1, 1})}, {"reps", repetitions}});
    const Array weights =
        array::slice_axis(array::softmax(array::concat({scores, sinks}, 3)), 3, 0, count);
    const Array all = array::reshape(weights, {1, 1, mil::Dim(heads) * q, count});
    return array::reshape(array::matmul(all, keys), {1, heads, q, mil::Dim(size)});
  }

  // (1, q, groups * output_rank).
  Array grouped(const Array& attended) const {
    const int64_t groups = options_.groups, rank = options_.output_rank;
    const mil::Dim& q = attended.dim(2);
    const Array joined = array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                                        {1, q, groups, group_width(options_)});
    const Array matrices = array::reshape(group_matrices_, {groups, rank, group_width(options_)});
    const Array products = array::matmul(array::transpose(joined, {0, 2, 1, 3}),
                                         array::expand_dims(matrices, {0}), false,
                                         /*transpose_y=*/true);
    return array::reshape(array::transpose(products, {0, 2, 1, 3}), {1, q, groups * rank});
  }

  std::string path_;
  CompressedOptions options_;
  Linear query_down_, query_, key_;
  Norm down_norm_, key_norm_, query_norm_;
  Array group_matrices_;
  Linear output_;
  Array sinks_;
  std::optional<KeyCompressor> compressor_;
  std::optional<BlockChooser> chooser_;
};

}  // namespace

MixerNeeds CompressedAttentionOptions::needs() const {
  MixerNeeds needs;
  needs.name = "compressed attention";
  needs.kv_heads = 1;
  needs.head_dim = head_dim;
  needs.values = false;
  needs.index_dim = kept_elements(*this);
  needs.rope = rope;
  needs.window = window;
  if (blocks) needs.states.push_back(blocks->carried());
  if (chooser) needs.states.push_back(chooser->blocks.carried());
  return needs;
}

std::unique_ptr<const Mixer> CompressedAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<CompressedAttention>(parameters, *this);
}

}  // namespace pippin::nn
