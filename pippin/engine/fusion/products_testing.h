// Weights of products in the text of programs, for tests of fusions.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::engine {

inline constexpr int64_t kInputs = 64;

// "tensor<T, [dims]>([...])" with pseudo-random elements: integers of a range, or multiples of
// 1/1024.
inline std::string values(const std::string& type, const std::vector<int64_t>& dims, int low,
                          int high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> items;
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    const int number = low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
    items.push_back(type.starts_with("fp") ? fmt::format("{:a}", number / 1024.0)
                                           : std::to_string(number));
  }
  return fmt::format("tensor<{}, [{}]>([{}])", type, fmt::join(dims, ", "), fmt::join(items, ", "));
}

enum class Form { Fp32, Fp16, Int4, Int8, Palette };

// A line that defines the weight `name` [outputs, 64, ones...].
inline std::string weight(Form form, const std::string& name, int64_t outputs, uint32_t seed,
                          bool kernel = false) {
  std::vector<int64_t> dims = {outputs, kInputs}, scales = {outputs, 2}, lut = {1, 1, 16, 1};
  if (kernel) {
    dims = {outputs, kInputs, 1, 1};
    scales = {outputs, 2, 1, 1};
    lut = {1, 1, 1, 1, 16, 1};
  }
  const std::string shape = fmt::format("{}", fmt::join(dims, ", "));
  const auto quantized = [&](const char* type, int low, int high) {
    return fmt::format(
        "tensor<fp16, [{0}]> {1} = constexpr_blockwise_shift_scale(data = {2}, scale = {3})[name = "
        "string(\"{1}\")];\n",
        shape, name, values(type, dims, low, high, seed), values("fp16", scales, 50, 150, seed));
  };
  switch (form) {
    case Form::Fp32:
      return fmt::format("tensor<fp32, [{0}]> {1} = const()[name = string(\"{1}\"), val = {2}];\n",
                         shape, name, values("fp32", dims, -999, 999, seed));
    case Form::Fp16:
      return fmt::format("tensor<fp16, [{0}]> {1} = const()[name = string(\"{1}\"), val = {2}];\n",
                         shape, name, values("fp16", dims, -999, 999, seed));
    case Form::Int4:
      return quantized("int4", -8, 7);
    case Form::Int8:
      return quantized("int8", -128, 127);
    case Form::Palette:
      return fmt::format(
          "tensor<fp16, [{0}]> {1} = constexpr_lut_to_dense(indices = {2}, lut = {3})[name = "
          "string(\"{1}\")];\n",
          shape, name, values("uint4", dims, 0, 15, seed), values("fp16", lut, -999, 999, seed));
  }
  return {};
}

inline std::string element(Form form) {
  return form == Form::Fp32 ? "fp32" : "fp16";
}

inline std::string linear(Form form, const std::string& name, int64_t outputs,
                          const std::string& call) {
  return fmt::format("tensor<{0}, [?, {1}]> {2} = {3}[name = string(\"{2}\")];\n", element(form),
                     outputs, name, call);
}

}  // namespace pippin::engine
