#include "pippin/nn/layers/batch_norm.h"

#include <cmath>

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

}  // namespace pippin::nn
