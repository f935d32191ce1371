#include "pippin/nn/attention/value_mask.h"

#include <algorithm>
#include <limits>

#include "pippin/array/ops.h"
#include "pippin/nn/attention/best_keys.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

class ValueMask final : public ScoreBias {
 public:
  ValueMask(const Parameters& parameters, const ValueMaskOptions& options)
      : path_(parameters.at("dt_proj").path()),
        options_(options),
        rates_(parameters.get("A", {options.num_kv_heads})),
        steps_(parameters.at("dt_proj"), options.num_kv_heads * options.head_dim,
               options.num_kv_heads, options.bias) {}

  Array operator()(const Array& /*x*/, const Array& values,
                   const MixerInput& input) const override {
    const array::Scope scope(path_);
    const mil::Dim& end = values.dim(2);
    const int64_t kv_heads = options_.num_kv_heads, heads = options_.num_heads;
    const Array tokens = array::reshape(array::transpose(values, {0, 2, 1, 3}),
                                        {1, end, kv_heads * options_.head_dim});
    const Array steps = array::cast(array::softplus(steps_(tokens)), kDecayType);
    const Array large = array::exp(steps * array::cast(rates_, kDecayType));
    // Larger ones are infinite in fp16, and NaN when a mask is added.
    const Array kept = array::cast(array::minimum(large, kLargest), values.type());
    const Array by_key = array::expand_dims(array::transpose(kept, {0, 2, 1}), {2});
    const Array tiled = array::tile(by_key, {1, 1, heads / kv_heads, 1});
    const Array bias = array::reshape(tiled, {1, heads, 1, end}) + *input.mask;
    return best_keys(bias, options_.keep, path_);
  }

 private:
  static constexpr double kLargest = 60000;

  std::string path_;
  ValueMaskOptions options_;
  Array rates_;
  Linear steps_;
};

}  // namespace

std::unique_ptr<const ScoreBias> ValueMaskOptions::make(const Parameters& parameters) const {
  return std::make_unique<ValueMask>(parameters, *this);
}

}  // namespace pippin::nn
