#include "pippin/nn/layers/feature_shift.h"

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;

FeatureShift::FeatureShift(const Parameters& parameters, int64_t features,
                           const FeatureShiftOptions& options) {
  if (!options.bias.empty()) bias_ = parameters.get(options.bias, {features});
  if (!options.scale.empty()) scale_ = parameters.get(options.scale, {features});
  if ((bias_ || scale_) && parameters.style().channels()) {
    fail(ErrorCode::Unsupported,
         "'{}': a scale of the residual has no form for this package family", parameters.path());
  }
}

Array FeatureShift::operator()(const Array& x) const {
  const Array shifted = bias_ ? x + *bias_ : x;
  return scale_ ? shifted * *scale_ : shifted;
}

}  // namespace pippin::nn
