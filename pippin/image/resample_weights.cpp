#include "pippin/image/resample_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pippin/base/error.h"

namespace pippin::image {
namespace {

// A filter as a function of the distance in pixels, zero from `reach` on.
struct Kernel {
  double reach;
  double (*value)(double x);
};

double box(double x) {
  return x > -0.5 && x <= 0.5 ? 1 : 0;
}
double triangle(double x) {
  return std::max(1 - std::abs(x), 0.0);
}
double sinc(double x) {
  const double angle = x * std::numbers::pi;
  return x == 0 ? 1 : std::sin(angle) / angle;
}
double hamming(double x) {
  return std::abs(x) >= 1 ? 0 : sinc(x) * (0.54F + 0.46F * std::cos(x * std::numbers::pi));
}
// Keys' cubic convolution with a = -1/2, which both libraries use.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}
double lanczos(double x) {
  return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

Kernel kernel_of(Filter filter, Backend backend) {
  if (backend == Backend::Torchvision && (filter == Filter::Box || filter == Filter::Hamming)) {
    fail(ErrorCode::Unsupported, "resample {}: torchvision has only 0 to 3",
         static_cast<int>(filter));
  }
  switch (filter) {
    case Filter::Lanczos:
      return {3, lanczos};
    case Filter::Bilinear:
      return {1, triangle};
    case Filter::Bicubic:
      return {2, cubic};
    case Filter::Hamming:
      return {1, hamming};
    case Filter::Box:
    case Filter::Nearest:
      break;
  }
  return {0.5, box};
}

}  // namespace

int64_t AxisWeights::begin() const {
  int64_t least = taps.empty() ? 0 : taps[0].first;
  for (const Taps& tap : taps) least = std::min(least, tap.first);
  return least;
}

int64_t AxisWeights::end() const {
  int64_t most = 0;
  for (const Taps& tap : taps) most = std::max(most, tap.first + tap.count);
  return most;
}

namespace {

// Appends the weights of result `i`.
AxisWeights::Taps append_weights(int64_t i, int64_t from, double scale, const Kernel& kernel,
                                 std::vector<double>& weights) {
  const double stretch = std::max(scale, 1.0);
  const double reach = kernel.reach * stretch;
  const double center = (static_cast<double>(i) + 0.5) * scale;
  AxisWeights::Taps taps;
  taps.first = std::max<int64_t>(static_cast<int64_t>(std::trunc(center - reach + 0.5)), 0);
  taps.count = std::min(static_cast<int64_t>(std::trunc(center + reach + 0.5)), from) - taps.first;
  taps.at = weights.size();
  double sum = 0;
  for (int64_t k = 0; k < taps.count; ++k) {
    const double distance = static_cast<double>(taps.first + k) - center + 0.5;
    weights.push_back(kernel.value(distance * (1 / stretch)));
    sum += weights.back();
  }
  if (sum != 0) {
    for (size_t k = taps.at; k < weights.size(); ++k) weights[k] /= sum;
  }
  return taps;
}

}  // namespace

AxisWeights axis_weights(int64_t from, int64_t to, int64_t first, int64_t count, Filter filter,
                         Backend backend) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  AxisWeights axis;
  axis.taps.reserve(static_cast<size_t>(count));
  if (filter == Filter::Nearest) {
    for (int64_t i = first; i < first + count; ++i) {
      const auto source = static_cast<int64_t>(std::floor((static_cast<double>(i) + 0.5) * scale));
      axis.taps.push_back({std::min(source, from - 1), 1, 0});
    }
    axis.weights = {1};
    return axis;
  }
  const Kernel kernel = kernel_of(filter, backend);
  for (int64_t i = first; i < first + count; ++i) {
    axis.taps.push_back(append_weights(i, from, scale, kernel, axis.weights));
  }
  const auto take_largest = [&](const std::vector<double>& weights) {
    for (const double weight : weights) axis.largest = std::max(axis.largest, weight);
  };
  take_largest(axis.weights);
  // Those of the other results count, too.
  std::vector<double> weights;
  for (int64_t i = 0; i < to && backend == Backend::Torchvision; ++i) {
    if (i == first) i += count;
    if (i >= to) break;
    weights.clear();
    append_weights(i, from, scale, kernel, weights);
    take_largest(weights);
  }
  return axis;
}

FixedWeights fixed_weights(const AxisWeights& axis, Backend backend) {
  FixedWeights fixed;
  fixed.bits = 22;
  if (backend == Backend::Torchvision) {
    for (fixed.bits = 0; fixed.bits < 22; ++fixed.bits) {
      if (std::floor(0.5 + axis.largest * static_cast<double>(2LL << fixed.bits)) >= 1 << 15) {
        break;
      }
    }
  }
  const auto one = static_cast<double>(1 << fixed.bits);
  fixed.weights.reserve(axis.weights.size());
  for (const double weight : axis.weights) {
    fixed.weights.push_back(static_cast<int32_t>(weight * one + (weight < 0 ? -0.5 : 0.5)));
  }
  return fixed;
}

}  // namespace pippin::image
