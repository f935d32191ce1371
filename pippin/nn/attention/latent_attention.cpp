#include "pippin/nn/attention/latent_attention.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

using array::Array;
using Options = LatentAttentionOptions;

// Rows of a projection in which each of `heads` blocks has `plain` rows before those that turn, and
// `left` after them.
WeightLayout turned_rows(int64_t heads, int64_t plain, const Options& options, int64_t left = 0) {
  WeightLayout layout;
  if (!options.interleaved && left == 0) return layout;
  const std::vector<int64_t> order =
      deinterleaved(options.rope_dims, options.interleaved ? options.rope_dims : 0);
  const int64_t size = plain + options.rope_dims + left;
  if (left > 0) {
    layout.stored_rows = heads * size;
    layout.part = "q";
  }
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < plain; ++i) layout.rows.push_back(head * size + i);
    for (const int64_t dim : order) layout.rows.push_back(head * size + plain + dim);
  }
  return layout;
}

// The matrices for keys or values, where the checkpoint has them in the form of their use: k_b_proj
// (heads * latent, plain), v_b_proj (heads * value, latent).
std::optional<Array> ready_matrices(const Parameters& attention, const Options& options,
                                    bool values) {
  const Parameters module = attention.at(values ? "v_b_proj" : "k_b_proj");
  if (!module.holds("weight")) return std::nullopt;
  const int64_t heads = options.num_heads, latent = options.latent;
  const std::vector<int64_t> dims = values
                                        ? std::vector<int64_t>{heads, options.value_dims, latent}
                                        : std::vector<int64_t>{heads, latent, options.plain_dims};
  const Parameters both = attention.at("kv_b_proj");
  return both.made(values ? "values.weight" : "keys.weight", dims, [&](const std::string& full) {
    const mil::DataType compute = attention.type();
    const auto [source, stored] = module.elements("weight", {dims[0] * dims[1], dims[2]});
    const Array weight = array::weight(full, stored, dims, source);
    const array::Scope scope(full);
    return stored == compute ? weight
                             : array::named(array::cast(weight, compute), mil::to_string(compute));
  });
}

// The rows of q_b_proj that turned_rows() leaves: those of gates.
WeightLayout gate_rows(const Options& options) {
  WeightLayout layout;
  const int64_t query = options.plain_dims + options.rope_dims, size = query + options.value_dims;
  layout.stored_rows = options.num_heads * size;
  layout.part = "gate";
  for (int64_t head = 0; head < options.num_heads; ++head) {
    for (int64_t i = query; i < size; ++i) layout.rows.push_back(head * size + i);
  }
  return layout;
}

// A part of kv_b_proj (heads * (plain + value), latent): of each head the rows that make plain
// keys, transposed, (heads, latent, plain), or those that make values, (heads, value, latent).
Array head_matrices(const Parameters& attention, const Options& options, bool values) {
  if (auto ready = ready_matrices(attention, options, values)) return *ready;
  const Parameters parameters = attention.at("kv_b_proj");
  const int64_t heads = options.num_heads, latent = options.latent;
  const int64_t size = options.plain_dims + options.value_dims;
  const int64_t taken = values ? options.value_dims : options.plain_dims;
  const std::vector<int64_t> dims = values ? std::vector<int64_t>{heads, taken, latent}
                                           : std::vector<int64_t>{heads, latent, taken};
  return parameters.made(
      values ? "values.weight" : "keys.weight", dims, [&](const std::string& full) {
        const mil::DataType compute = parameters.type();
        const auto [all, stored] = parameters.elements("weight", {heads * size, latent});
        const size_t element = static_cast<size_t>(mil::bit_width(stored)) / 8;
        std::vector<std::shared_ptr<const mil::TensorSource>> parts;
        for (int64_t head = 0; head < heads; ++head) {
          std::vector<int64_t> rows(static_cast<size_t>(taken));
          std::iota(rows.begin(), rows.end(), head * size + (values ? options.plain_dims : 0));
          auto part = rows_source(all, static_cast<uint64_t>(latent) * element, rows);
          if (!values) {
            part = transposed_source(std::move(part), static_cast<uint64_t>(latent),
                                     static_cast<uint64_t>(taken), element);
          }
          parts.push_back(std::move(part));
        }
        const Array weight = array::weight(full, stored, dims, joined_source(std::move(parts)));
        const array::Scope scope(full);
        return stored == compute
                   ? weight
                   : array::named(array::cast(weight, compute), mil::to_string(compute));
      });
}

NormOptions latent_norm(const Options& options) {
  NormOptions norm = options.norm;
  norm.scale = options.latent_scale;
  return norm;
}

class LatentAttention final : public Mixer {
 public:
  LatentAttention(const Parameters& parameters, const Options& options)
      : path_(parameters.path()),
        options_(options),
        latent_(parameters.at("kv_a_proj_with_mqa"), options.features,
                options.latent + options.rope_dims, options.bias,
                turned_rows(1, options.latent, options)),
        latent_norm_(parameters.at("kv_a_layernorm"), options.latent, latent_norm(options)),
        key_matrices_(head_matrices(parameters, options, false)),
        value_matrices_(head_matrices(parameters, options, true)),
        output_(parameters.at("o_proj"), options.num_heads * options.value_dims, options.features,
                options.bias) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': latent attention has no form for this package family",
           path_);
    }
    if (options.indexer) indexer_.emplace(parameters.at("indexer"), *options.indexer);
    const int64_t width = options.num_heads * (options.plain_dims + options.rope_dims);
    const WeightLayout layout = turned_rows(options.num_heads, options.plain_dims, options,
                                            options.gated ? options.value_dims : 0);
    if (options.query_rank > 0) {
      const int64_t narrow = options.query_rank * (options.gated ? 2 : 1);
      query_down_.emplace(parameters.at("q_a_proj"), options.features, options.query_rank,
                          options.bias);
      query_norm_.emplace(parameters.at("q_a_layernorm"), options.query_rank, options.norm);
      query_.emplace(parameters.at("q_b_proj"), narrow, width, false, layout);
      if (options.gated) {
        gate_.emplace(parameters.at("q_b_proj"), narrow, options.num_heads * options.value_dims,
                      false, gate_rows(options));
      }
    } else {
      query_.emplace(parameters.at("q_proj"), options.features, width, false, layout);
    }
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const int64_t heads = options_.num_heads;
    const mil::Dim& q = x.dim(1);
    const Array raw = query_down_ ? (*query_down_)(x) : x;
    const Array narrow = query_down_ ? (*query_norm_)(raw) : x;
    const Array both = gate_ ? array::concat({narrow, raw}, -1) : narrow;
    Array queries = wide_queries(both, *input.rotation);
    if (options_.temperature) {
      queries = queries * options_.temperature->factors(input.pass, x.type());
    }
    const Array keys =
        input.cache.update_keys(input.layer, new_keys(x, *input.rotation), input.pass);
    const mil::Dim& end = keys.dim(2);
    // All heads' queries are rows of one product with the single key head.
    const Array rows = array::reshape(queries, {1, 1, mil::Dim(heads) * q, queries.dim(3)});
    const Array products = array::matmul(rows, keys, false, /*transpose_y=*/true);
    if (indexer_) input.carry.chosen = (*indexer_)(x, narrow, input);
    const bool chooses = indexer_ || options_.chosen_before;
    const Array mask = chooses ? input.carry.chosen.value() : *input.mask;
    const Array scores = array::reshape(products, {1, heads, q, end}) + mask;
    const Array weights = array::reshape(array::softmax(scores), {1, 1, mil::Dim(heads) * q, end});
    const Array seen = array::slice_axis(keys, -1, 0, options_.latent);
    const Array mixed =
        array::reshape(array::matmul(weights, seen), {1, heads, q, options_.latent});
    const Array values = array::matmul(mixed, value_matrices_, false, /*transpose_y=*/true);
    const Array joined =
        array::reshape(array::transpose(values, {0, 2, 1, 3}), {1, q, heads * options_.value_dims});
    return output_(gate_ ? joined * array::sigmoid((*gate_)(both)) : joined);
  }

 private:
  // (1, heads, q, latent + rope_dims), scaled.
  Array wide_queries(const Array& narrow, const Rotation& rotation) const {
    const int64_t plain = options_.plain_dims, size = plain + options_.rope_dims;
    const Array all =
        array::reshape((*query_)(narrow), {1, narrow.dim(1), options_.num_heads, size});
    const Array by_head = array::transpose(all, {0, 2, 1, 3});
    const Array met = array::matmul(array::slice_axis(by_head, -1, 0, plain), key_matrices_, false,
                                    /*transpose_y=*/true);
    const Array turned = rotate(array::slice_axis(by_head, -1, plain, size), rotation);
    const double scale = options_.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
    return array::concat({met, turned}, -1) * scale;
  }

  // (1, 1, q, latent + rope_dims).
  Array new_keys(const Array& x, const Rotation& rotation) const {
    const Array both = latent_(x);
    const int64_t latent = options_.latent;
    const Array normed = latent_norm_(array::slice_axis(both, -1, 0, latent));
    const Array rest = array::slice_axis(both, -1, latent, latent + options_.rope_dims);
    const Array turned = rotate(array::expand_dims(rest, {1}), rotation);
    return array::concat({array::expand_dims(normed, {1}), turned}, -1);
  }

  std::string path_;
  Options options_;
  Linear latent_;
  Norm latent_norm_;
  Array key_matrices_, value_matrices_;
  Linear output_;
  std::optional<Linear> query_down_, query_, gate_;
  std::optional<Norm> query_norm_;
  std::optional<Indexer> indexer_;
};

}  // namespace

MixerNeeds LatentAttentionOptions::needs() const {
  return {.name = "latent attention",
          .kv_heads = 1,
          .head_dim = latent + rope_dims,
          .values = false,
          .index_dim = indexer ? indexer->head_dim : 0,
          .states = {},
          .rope = rope,
          .window = std::nullopt,
          .chunk = std::nullopt};
}

std::unique_ptr<const Mixer> LatentAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<LatentAttention>(parameters, *this);
}

}  // namespace pippin::nn
