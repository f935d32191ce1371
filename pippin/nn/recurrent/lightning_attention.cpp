#include "pippin/nn/recurrent/lightning_attention.h"

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

CarriedState recurrent_state(const LightningAttentionOptions& options) {
  return {kRecurrentState, {options.heads, 1, options.head_dim, options.head_dim}};
}

class LightningAttention final : public Mixer {
 public:
  LightningAttention(const Parameters& parameters, const LightningAttentionOptions& options)
      : path_(parameters.path()),
        options_(options),
        input_(parameters.at("qkv_proj"), options.features, 3 * options.heads * options.head_dim),
        gate_(parameters.at("output_gate"), options.features, options.heads * options.head_dim),
        norm_(parameters.at("norm"), options.heads * options.head_dim, options.norm),
        output_(parameters.at("out_proj"), options.heads * options.head_dim, options.features) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': lightning attention has no form for this package family",
           path_);
    }
  }

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const mil::Dim& query = tokens.dim(1);
    const int64_t heads = options_.heads, size = options_.head_dim;
    const Array all =
        array::reshape(apply(options_.activation, input_(tokens)), {query, heads, 3 * size});
    const auto part = [&](int64_t index) {
      const Array one = array::slice_axis(all, 2, index * size, (index + 1) * size);
      return array::transpose(one, {1, 0, 2});  // (heads, q, size)
    };
    const Array queries = part(0);
    const Array keys = part(1);
    const Array values = array::expand_dims(part(2), {1});
    const CarriedState state = recurrent_state(options_);
    const Recurred made =
        decayed_products({log_decay(query), values, keys, queries},
                         input.cache.carried(input.layer, state), input.order->no_later);
    input.cache.carry(input.layer, state, made.state);
    const Array results =
        array::reshape(array::transpose(made.results, {2, 0, 1, 3}), {1, query, heads * size});
    const Array normal = norm_(results);
    return output_(array::sigmoid(gate_(tokens)) * normal);
  }

 private:
  // (heads, 1, q): the same for every token.
  Array log_decay(const mil::Dim& query) const {
    std::vector<double> values;
    for (const double rate : options_.rates) values.push_back(-rate);
    const Array rates = array::constant(kDecayType, {options_.heads, 1, 1}, values, path_ + ".A");
    const Array count = array::Builder::current().dim_array(query);
    const Array places = array::cast(array::range(array::constant(0), count), kDecayType);
    return places * 0.0 + rates;
  }

  std::string path_;
  LightningAttentionOptions options_;
  Linear input_, gate_;
  Norm norm_;
  Linear output_;
};

}  // namespace

MixerNeeds LightningAttentionOptions::needs() const {
  return {.name = "lightning attention", .states = {recurrent_state(*this)}, .order = true};
}

std::unique_ptr<const Mixer> LightningAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<LightningAttention>(parameters, *this);
}

}  // namespace pippin::nn
