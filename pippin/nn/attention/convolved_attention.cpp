#include "pippin/nn/attention/convolved_attention.h"

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

using array::Array;
using ConvolvedOptions = ConvolvedAttentionOptions;

int64_t query_width(const ConvolvedOptions& options) {
  return options.num_heads * options.head_dim;
}
int64_t key_width(const ConvolvedOptions& options) {
  return options.num_kv_heads * options.head_dim;
}

// The last rows of queries and keys, which the convolutions read.
CarriedState rows_state(const ConvolvedOptions& options) {
  return convolution_state(query_width(options) + key_width(options),
                           options.first_taps + options.second_taps - 1);
}
CarriedState token_state(const ConvolvedOptions& options) {
  return {"tokenCache", {1, 1, options.features}};
}

// Scales a head's elements to the length sqrt(head_dim).
Norm length_norm(const Parameters& parameters, const ConvolvedOptions& options) {
  NormOptions norm;
  norm.weight = false;
  norm.epsilon = 1e-12;
  return Norm(parameters, options.head_dim, norm, Norm::Of::Heads);
}

class ConvolvedAttention final : public Mixer {
 public:
  ConvolvedAttention(const Parameters& parameters, const ConvolvedOptions& options)
      : path_(parameters.path()),
        options_(options),
        q_(projection(parameters, "q_proj", query_width(options))),
        k_(projection(parameters, "k_proj", key_width(options))),
        current_(projection(parameters, "v_proj_current", key_width(options) / 2)),
        delayed_(projection(parameters, "v_proj_delayed", key_width(options) / 2)),
        first_(kernel(parameters, "conv_qk_depthwise", 1, options.first_taps)),
        first_bias_(kernel_bias(parameters, "conv_qk_depthwise")),
        second_(kernel(parameters, "conv_qk_grouped", options.head_dim, options.second_taps)),
        second_bias_(kernel_bias(parameters, "conv_qk_grouped")),
        length_(length_norm(parameters.at("qk_norm"), options)),
        key_scale_(parameters.at("qk_norm").get("temp", {options.num_kv_heads})),
        output_(parameters.at("o_proj"), query_width(options), options.features, options.bias) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': a causal convolution has no form for this package family",
           path_);
    }
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const int64_t heads = options_.num_heads, kv_heads = options_.num_kv_heads;
    const int64_t size = options_.head_dim, width = query_width(options_);
    const Array q = q_(x), k = k_(x);
    const Array mixed = convolved(array::concat({q, k}, 2), input);
    const Array own = mean_queries(q, k);  // (1, q, kv_heads, group, head_dim)
    const Array queries =
        array::slice_axis(mixed, 2, 0, width) + array::reshape(own, {1, x.dim(1), mil::Dim(width)});
    const Array keys =
        array::slice_axis(mixed, 2, width, mixed.dim(2)) +
        array::reshape(array::reduce_mean(own, {3}), {1, x.dim(1), mil::Dim(key_width(options_))});
    const Array turned = turn(length_(heads_of(queries, heads)), input);
    const Array scale = array::reshape(key_scale_, {1, kv_heads, 1, 1});
    const Array turned_keys = turn(length_(heads_of(keys, kv_heads)) * scale, input);
    const auto [seen, values] = input.cache.update(
        input.layer, turned_keys, heads_of(values_of(x, input), kv_heads), input.pass);
    const Array attended =
        array::scaled_dot_product_attention(turned, spread(seen), spread(values), *input.mask);
    return output_(array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                                  {1, x.dim(1), mil::Dim(heads * size)}));
  }

 private:
  Linear projection(const Parameters& parameters, const char* name, int64_t width) const {
    return Linear(parameters.at("qkv_proj").at(name), options_.features, width, options_.bias);
  }
  Array kernel(const Parameters& parameters, const char* name, int64_t inputs, int64_t taps) const {
    const int64_t all = query_width(options_) + key_width(options_);
    return parameters.at("qkv_proj").at(name).get("weight", {all, inputs, taps});
  }
  Array kernel_bias(const Parameters& parameters, const char* name) const {
    const int64_t all = query_width(options_) + key_width(options_);
    return parameters.at("qkv_proj").at(name).get("bias", {all});
  }

  Array heads_of(const Array& x, int64_t heads) const {
    return array::transpose(array::reshape(x, {1, x.dim(1), heads, options_.head_dim}),
                            {0, 2, 1, 3});
  }
  static Array turn(const Array& x, const MixerInput& input) {
    return input.rotation != nullptr ? rotate(x, *input.rotation) : x;
  }

  // Each key-value head for the query heads that share it.
  Array spread(const Array& x) const {
    const int64_t group = options_.num_heads / options_.num_kv_heads;
    const Array tiled = array::tile(array::expand_dims(x, {2}), {1, 1, group, 1, 1});
    return array::reshape(tiled, {1, options_.num_heads, x.dim(2), x.dim(3)});
  }

  // Half of the sum of each query and its head's key.
  Array mean_queries(const Array& q, const Array& k) const {
    const int64_t kv_heads = options_.num_kv_heads, size = options_.head_dim;
    const int64_t group = options_.num_heads / kv_heads;
    const Array queries = array::reshape(q, {1, q.dim(1), kv_heads, group, size});
    const Array keys = array::reshape(k, {1, k.dim(1), kv_heads, 1, size});
    return (queries + keys) * 0.5;
  }

  Array convolved(const Array& both, const MixerInput& input) const {
    const CarriedState state = rows_state(options_);
    const Array rows = array::concat({input.cache.carried(input.layer, state), both}, 1);
    const mil::Dim& tokens = both.dim(1);
    input.cache.carry(input.layer, state,
                      array::slice_axis(rows, 1, tokens, tokens + mil::Dim(state.shape[1])));
    const int64_t features = query_width(options_) + key_width(options_);
    const Array once = convolve(array::transpose(rows, {0, 2, 1}), first_, first_bias_, features);
    const int64_t heads = options_.num_heads + options_.num_kv_heads;
    return array::transpose(convolve(once, second_, second_bias_, heads), {0, 2, 1});
  }

  static Array convolve(const Array& columns, const Array& weight, const Array& bias,
                        int64_t groups) {
    return array::record_one("conv", {{"x", columns},
                                      {"weight", weight},
                                      {"bias", bias},
                                      {"groups", groups},
                                      {"pad_type", "valid"}});
  }

  // The halves of the token itself, then those of the previous one.
  Array values_of(const Array& x, const MixerInput& input) const {
    const CarriedState state = token_state(options_);
    const Array rows = array::concat({input.cache.carried(input.layer, state), x}, 1);
    const mil::Dim& tokens = x.dim(1);
    input.cache.carry(input.layer, state, array::slice_axis(rows, 1, tokens, tokens + 1));
    const Array before = array::slice_axis(rows, 1, 0, tokens);
    return array::concat({current_(x), delayed_(before)}, 2);
  }

  std::string path_;
  ConvolvedOptions options_;
  Linear q_, k_, current_, delayed_;
  Array first_, first_bias_, second_, second_bias_;
  Norm length_;
  Array key_scale_;
  Linear output_;
};

}  // namespace

MixerNeeds ConvolvedAttentionOptions::needs() const {
  MixerNeeds needs;
  needs.name = "attention after convolutions";
  needs.kv_heads = num_kv_heads;
  needs.head_dim = head_dim;
  needs.states = {rows_state(*this), token_state(*this)};
  needs.rope = rope;
  needs.window = window;
  return needs;
}

std::unique_ptr<const Mixer> ConvolvedAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<ConvolvedAttention>(parameters, *this);
}

}  // namespace pippin::nn
