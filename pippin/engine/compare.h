// For tests: reads tensors from .npz files and compares results with expected values.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/io/npz.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {

using NamedTensors = std::map<std::string, mil::Tensor>;

inline mil::Tensor to_tensor(const NpyArray& array) {
  mil::Tensor tensor(mil::DataType::Float64, array.shape);
  tensor.values = array.to_doubles();
  return tensor;
}

// The arrays whose name starts with the prefix, without it.
inline NamedTensors load_tensors(const NpzFile& file, const std::string& prefix = "") {
  NamedTensors tensors;
  for (const std::string& name : file.names()) {
    if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = to_tensor(file.read(name));
  }
  return tensors;
}

inline NamedTensors load_tensors(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  return load_tensors(NpzFile::open(path));
}

struct Tolerance {
  double atol = 0, rtol = 0;
  double mismatch_ratio = 0;        // fraction of values that may exceed the tolerance
  bool nan_is_unspecified = false;  // accepts any value where NaN is expected
};

// Describes the first difference, or returns nothing. () and (1,) are the same shape.
inline std::string difference(const mil::Tensor& actual, const mil::Tensor& expected,
                              const Tolerance& tolerance) {
  const auto scalar = [](const mil::Tensor& tensor) {
    return tensor.shape.empty() || tensor.shape == std::vector<int64_t>{1};
  };
  if (actual.shape != expected.shape && !(scalar(actual) && scalar(expected))) {
    return fmt::format("shape {}, expected {}", actual.shape, expected.shape);
  }
  int64_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double a = actual.values[i], e = expected.values[i];
    const bool right = (std::isnan(e) && (tolerance.nan_is_unspecified || std::isnan(a))) ||
                       a == e ||
                       (std::isfinite(a) && std::isfinite(e) &&
                        std::abs(a - e) <= tolerance.atol + tolerance.rtol * std::abs(e));
    if (!right && wrong++ == 0) first = fmt::format("at {}: {}, expected {}", i, a, e);
  }
  if (static_cast<double>(wrong) <=
      tolerance.mismatch_ratio * static_cast<double>(expected.values.size())) {
    return {};
  }
  return fmt::format("{} of {} values, first {}", wrong, expected.values.size(), first);
}

}  // namespace pippin::engine
