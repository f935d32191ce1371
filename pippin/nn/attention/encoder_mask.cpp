#include "pippin/nn/attention/encoder_mask.h"

#include <limits>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

using array::Array;

namespace {

// Far below any score, and small enough that fp16 can hold twice the number.
constexpr double kLow = -30000.0;

Array padding_of(const Array& mask, mil::DataType type) {
  const array::Scope scope("padding");
  const Array filled = array::cast(array::constant(1) - mask, type) * kLow;
  return array::named(array::expand_dims(filled, {1, 2}), "mask");
}

Array positions_of(const mil::Dim& length) {
  return array::range(array::constant(0), array::Builder::current().dim_array(length));
}

}  // namespace

EncoderMasks::EncoderMasks(const Array& mask, mil::DataType type, const Options& options)
    : causal_(options.causal),
      positions_(positions_of(mask.dim(1))),
      padding_(padding_of(mask, type)) {
  if (!options.alibi) return;
  const Array distances = array::record_one("abs", {{"x", key_distances(positions_, positions_)}});
  padding_ = alibi_mask(*options.alibi, 0, padding_, distances);
}

Array EncoderMasks::make(std::optional<int64_t> window, std::optional<int64_t> window_after,
                         const RelativeBias* bias) const {
  const array::Scope scope("mask");
  Array mask = padding_;
  if (bias != nullptr) mask = mask + (*bias)(positions_, positions_);
  if (!causal_ && !window) return mask;
  const Array before = key_distances(positions_, positions_);  // of the key
  const auto number = [](int64_t value) { return array::constant(static_cast<int32_t>(value)); };
  Array seen = array::greater_equal(before, number(causal_ ? 0 : -window_after.value_or(*window)));
  if (window) {
    const Array near = array::less_equal(before, number(*window - (causal_ ? 1 : 0)));
    seen = array::logical_and(seen, near);
  }
  const Array zeros = array::cast(seen, mask.type()) * 0.0;
  const Array none = array::constant(mask.type(), -std::numeric_limits<double>::infinity());
  const Array hidden = array::select(seen, zeros, none);
  return mask + hidden;
}

const Array& EncoderMasks::at(std::optional<int64_t> window, std::optional<int64_t> window_after,
                              const RelativeBias* bias) {
  const std::tuple key(window.value_or(-1), window_after.value_or(-1), bias);
  const auto found = made_.find(key);
  return found != made_.end() ? found->second
                              : made_.emplace(key, make(window, window_after, bias)).first->second;
}

}  // namespace pippin::nn
