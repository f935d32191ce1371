#include "pippin/nn/recurrent/mlstm.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

// The matrix with the vector as an additional row, as if for a value of 1.
CarriedState memory_state(const MLSTMOptions& options) {
  return {kRecurrentState, {options.num_heads, options.value_dim + 1, options.key_dim}};
}
CarriedState factor_state(const MLSTMOptions& options) {
  return {"recurrentFactor", {options.num_heads, 1, 1}};
}

class MLSTM final : public Mixer {
 public:
  MLSTM(const Parameters& parameters, const MLSTMOptions& options)
      : path_(parameters.path()),
        options_(options),
        q_(parameters.at("q"), options.features, options.num_heads * options.key_dim),
        k_(parameters.at("k"), options.features, options.num_heads * options.key_dim),
        v_(parameters.at("v"), options.features, options.num_heads * options.value_dim),
        input_gate_(parameters.at("igate_preact"), options.features, options.num_heads, true),
        forget_gate_(parameters.at("fgate_preact"), options.features, options.num_heads, true),
        output_gate_(parameters.at("ogate_preact"), options.features,
                     options.num_heads * options.value_dim),
        norm_weight_(
            parameters.at("multihead_norm").get("weight", {options.num_heads * options.value_dim})),
        output_(parameters.at("out_proj"), options.num_heads * options.value_dim,
                options.features) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': a recurrence has no form for this package family", path_);
    }
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array results = recur(x, input);  // (heads, q, value_dim)
    const Array normal =
        array::layer_norm(results, {-1}, std::nullopt, std::nullopt, options_.norm.epsilon);
    const int64_t width = options_.num_heads * options_.value_dim;
    const Array joined = array::reshape(array::transpose(normal, {1, 0, 2}), {1, x.dim(1), width});
    return output_(joined * norm_weight_ * array::sigmoid(output_gate_(x)));
  }

 private:
  // (heads, q, size), fp32.
  Array heads_of(const Array& x, int64_t size) const {
    const Array split = array::reshape(x, {x.dim(1), options_.num_heads, size});
    return array::cast(array::transpose(split, {1, 0, 2}), kDecayType);
  }
  // (heads, q), fp32.
  Array gate(const Linear& linear, const Array& x) const {
    const Array raw = array::cast(linear(x), kDecayType);
    const Array capped = array::tanh(raw * (1 / options_.gate_cap)) * options_.gate_cap;
    return array::reshape(array::transpose(capped, {2, 0, 1}), {options_.num_heads, x.dim(1)});
  }
  // Appends a 1 to the values of each token.
  Array widened(const Array& values) const {
    const Array zeros = array::slice_axis(values, 2, 0, 1) * 0.0;
    return array::concat({values, zeros + 1.0}, 2);
  }

  Array recur(const Array& x, const MixerInput& input) const {
    const double scale = 1 / std::sqrt(static_cast<double>(options_.key_dim));
    const mil::Dim& q = x.dim(1);
    const Array queries = heads_of(q_(x), options_.key_dim) * scale;
    const Array keys = heads_of(k_(x), options_.key_dim);
    const Array values = widened(heads_of(v_(x), options_.value_dim));
    const Array opened = gate(input_gate_, x);
    const Array kept = array::softplus(gate(forget_gate_, x) * -1.0) * -1.0;
    const Array total = array::record_one("cumsum", {{"x", kept}, {"axis", 1}});
    const Array column = array::expand_dims(total, {2});  // (heads, q, 1)
    const CarriedState memory = memory_state(options_), factor = factor_state(options_);
    const Array before = array::cast(input.cache.carried(input.layer, memory), kDecayType);
    const Array since = array::cast(input.cache.carried(input.layer, factor), kDecayType);

    // The weights of earlier tokens for each token, as logarithms, and the largest one.
    const Array never = array::constant(kDecayType, -std::numeric_limits<double>::infinity());
    const Array ways = column - array::expand_dims(total, {1}) + array::expand_dims(opened, {1});
    const Array seen = array::select(input.order->no_later, ways, never);
    const Array reached = column + since;
    const Array largest = array::maximum(array::reduce_max(seen, {2}, true), reached);
    const Array left = array::exp(seen - largest);
    const Array carried = array::exp(reached - largest);
    const Array products = array::matmul(queries, keys, false, /*transpose_y=*/true) * left;
    const Array both = array::matmul(products, values) +
                       array::matmul(queries, before, false, /*transpose_y=*/true) * carried;
    const int64_t size = options_.value_dim;
    const Array counted = array::abs(array::slice_axis(both, 2, size, size + 1));
    const Array least = array::exp(largest * -1.0);
    const Array results =
        array::slice_axis(both, 2, 0, size) / (array::maximum(counted, least) + options_.epsilon);

    const Array last = array::slice_axis(largest, 1, q - 1, q);
    const Array end = array::slice_axis(column, 1, q - 1, q);
    const Array added = array::exp(end - column + array::expand_dims(opened, {2}) - last);
    const Array memory_after = before * array::exp(end + since - last) +
                               array::matmul(values * added, keys, /*transpose_x=*/true);
    input.cache.carry(input.layer, memory, array::cast(memory_after, x.type()));
    input.cache.carry(input.layer, factor, array::cast(last, x.type()));
    return array::cast(results, x.type());
  }

  std::string path_;
  MLSTMOptions options_;
  Linear q_, k_, v_, input_gate_, forget_gate_, output_gate_;
  Array norm_weight_;
  Linear output_;
};

}  // namespace

MixerNeeds MLSTMOptions::needs() const {
  MixerNeeds needs;
  needs.name = "a matrix memory";
  needs.states = {memory_state(*this), factor_state(*this)};
  needs.order = true;
  return needs;
}

std::unique_ptr<const Mixer> MLSTMOptions::make(const Parameters& parameters) const {
  return std::make_unique<MLSTM>(parameters, *this);
}

}  // namespace pippin::nn
