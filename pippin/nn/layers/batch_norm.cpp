#include "pippin/nn/layers/batch_norm.h"

#include <cmath>
#include <string>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

ChannelScale batch_norm(const Parameters& parameters, int64_t channels, double epsilon) {
  const std::vector<double> weight = parameters.values("weight", {channels});
  const std::vector<double> bias = parameters.values("bias", {channels});
  const std::vector<double> mean = parameters.values("running_mean", {channels});
  const std::vector<double> variance = parameters.values("running_var", {channels});
  ChannelScale result;
  result.factors.reserve(weight.size());
  result.addends.reserve(weight.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    if (!(variance[i] >= 0)) {
      fail(ErrorCode::InvalidFile, "{}: tensor '{}.running_var' has {} at [{}], not a variance",
           parameters.file(), parameters.path(), variance[i], i);
    }
    const double factor = weight[i] / std::sqrt(variance[i] + epsilon);
    result.factors.push_back(factor);
    result.addends.push_back(bias[i] - mean[i] * factor);
  }
  return result;
}

Convolution batch_normed(const Parameters& convolution, const Parameters& norm,
                         const ConvolutionOptions& options, double epsilon) {
  const int64_t outputs = options.dims.front();
  const array::Array weight =
      convolution.made("weight", options.dims, [&](const std::string& full) {
        const ChannelScale scale = batch_norm(norm, outputs, epsilon);
        std::vector<double> values = convolution.values("weight", options.dims);
        const size_t each = values.size() / scale.factors.size();
        for (size_t i = 0; i < values.size(); ++i) values[i] *= scale.factors[i / each];
        return array::constant(convolution.type(), options.dims, values, full);
      });
  const array::Array bias = convolution.made("bias", {outputs}, [&](const std::string& full) {
    const ChannelScale scale = batch_norm(norm, outputs, epsilon);
    std::vector<double> values = scale.addends;
    if (options.bias) {
      const std::vector<double> own = convolution.values("bias", {outputs});
      for (size_t i = 0; i < values.size(); ++i) values[i] += own[i] * scale.factors[i];
    }
    return array::constant(convolution.type(), {outputs}, values, full);
  });
  return Convolution(convolution.path(), options, weight, bias);
}

}  // namespace pippin::nn
