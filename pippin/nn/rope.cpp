#include "pippin/nn/rope.h"

#include <cmath>
#include <numbers>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

// Hugging Face's _compute_llama3_parameters: wavelengths longer than the original context / low
// are stretched by `factor`, those shorter than original / high are kept.
double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const auto original = static_cast<double>(scaling.original_context);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength > original / scaling.low_frequency_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_frequency_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_frequency_factor) /
                        (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

array::Array table(int64_t context, const std::vector<double>& frequencies, mil::DataType type,
                   double (*function)(double), std::string_view name) {
  const size_t half = frequencies.size();
  std::vector<double> values(static_cast<size_t>(context) * half * 2);
  for (size_t position = 0; position < static_cast<size_t>(context); ++position) {
    double* row = values.data() + position * half * 2;
    for (size_t i = 0; i < half; ++i) {
      row[i] = row[i + half] = function(static_cast<double>(position) * frequencies[i]);
    }
  }
  return array::constant(type, {1, 1, context, static_cast<int64_t>(half) * 2}, values, name);
}

}  // namespace

std::vector<double> rope_frequencies(int64_t dims, double theta, const RopeScaling& scaling) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dims; i += 2) {
    const double frequency =
        1.0 / std::pow(theta, static_cast<double>(i) / static_cast<double>(dims));
    switch (scaling.kind) {
      case RopeScaling::Kind::Default:
        frequencies.push_back(frequency);
        break;
      case RopeScaling::Kind::Linear:
        frequencies.push_back(frequency / scaling.factor);
        break;
      case RopeScaling::Kind::Llama3:
        frequencies.push_back(llama3_frequency(frequency, scaling));
        break;
    }
  }
  return frequencies;
}

Rope::Rope(int64_t context, int64_t dims, double theta, const RopeScaling& scaling,
           mil::DataType type)
    : dims_(dims),
      cos_(table(context, rope_frequencies(dims, theta, scaling), type, std::cos, "rope_cos")),
      sin_(table(context, rope_frequencies(dims, theta, scaling), type, std::sin, "rope_sin")) {}

Rotation Rope::rows(const mil::Dim& past, const mil::Dim& end) const {
  const array::Scope scope("rope");
  return {array::named(array::slice_axis(cos_, 2, past, end), "cos_rows"),
          array::named(array::slice_axis(sin_, 2, past, end), "sin_rows")};
}

array::Array Rope::apply(const array::Array& x, const Rotation& rotation) const {
  const int64_t head_dim = x.dim(-1).constant();
  const bool partial = head_dim != dims_;
  const array::Array turned = partial ? array::slice_axis(x, -1, 0, dims_) : x;
  const array::Array low = array::slice_axis(turned, -1, 0, dims_ / 2);
  const array::Array high = array::slice_axis(turned, -1, dims_ / 2, dims_);
  const array::Array rotated = array::concat({high * -1.0, low}, -1);
  const array::Array along = turned * rotation.cos;
  const array::Array result = along + rotated * rotation.sin;
  if (!partial) return result;
  return array::concat({result, array::slice_axis(x, -1, dims_, head_dim)}, -1);
}

}  // namespace pippin::nn
