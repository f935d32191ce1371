#include "pippin/nn/layers/sample_frames.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

Array asinh(const Array& x) {
  const Array sum = array::abs(x) + array::sqrt(x * x + 1.0);
  const Array log = array::record_one("log", {{"x", sum}});
  return log * array::record_one("sign", {{"x", x}});
}

}  // namespace

SampleFrames::SampleFrames(const Parameters& parameters, const SampleFramesOptions& options)
    : options_(options),
      factor_(std::exp(
          parameters.at(options.compression).values("log_k", std::vector<int64_t>()).front())),
      projection_(parameters.at(options.projection), options.samples, options.outputs) {}

// In fp32 up to the projection: quiet sound has variances below fp16's range.
Array SampleFrames::operator()(const Array& samples) const {
  const array::Scope scope("frames");
  const Array frames = array::record_one("sliding_windows", {{"x", samples},
                                                             {"axis", int64_t{2}},
                                                             {"size", options_.samples},
                                                             {"stride", options_.samples}});
  const Array wide = array::cast(array::squeeze(frames, {1}), mil::DataType::Float32);
  const Array normal = array::layer_norm(wide, {-1}, std::nullopt, std::nullopt, options_.epsilon);
  const Array compressed = array::cast(asinh(normal * factor_), samples.type());
  return array::transpose(apply(options_.activation, projection_(compressed)), {0, 2, 1});
}

}  // namespace pippin::nn
