// Exports a function over arrays as a Core ML package.
//
//   mx::ExportedFunction twice;
//   twice.inputs = {{"x", mx::float16, {1, {1, 512}}}};
//   twice.body = [](const mx::ExportedArrays& in) {
//     return mx::ExportedResults{{{"y", in.inputs[0] * 2.0f}}, {}};
//   };
//   mx::export_package("twice.mlpackage", {twice});
//
// The body is called with arrays that have no values. If callers may choose sizes, it is called
// several times, once for each of a few sizes. Values that follow from the sizes are computed in
// the package; values that do not, and operations that MIL lacks, are rejected by name
// (Unsupported). Sizes of 1 are tried only to check the structure of the recording.
//
// bfloat16 and float64 become fp32, integers int32; available arrays become constants, and
// quantized ones stay quantized. Equal weights of several functions are written once.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

using NamedArray = std::pair<std::string, array>;
// A state of the package: a placeholder for its value before a prediction, and its value after.
struct NamedState {
  std::string name;
  array before, after;
};

// One size of an input: a number, or a range for callers to choose from. Ranges with the same name
// are the same size.
struct ExportedSize {
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are sizes
  ExportedSize(int64_t size) : lower(size), upper(size) {}
  // An upper bound below 0 means none.
  ExportedSize(int64_t from, int64_t to, std::string name_of_size = "")
      : lower(from), upper(to), name(std::move(name_of_size)) {}
  bool is_range() const { return lower != upper; }

  int64_t lower, upper;
  std::string name;
};

struct ExportedInput {
  std::string name;
  Dtype dtype;
  std::vector<ExportedSize> shape;
  // Instead of ranges: the shapes that callers may choose from, the default first. At most one
  // input of a function may have them, and then no input has ranges.
  std::vector<Shape> shapes = {};
};
// float16, initially zero.
struct ExportedState {
  std::string name;
  Shape shape;
};

// The arguments of a body, in the order of the inputs and states.
struct ExportedArrays {
  std::vector<array> inputs, states;
};
// The results of a body: the outputs, and the new value of each state.
struct ExportedResults {
  std::vector<NamedArray> outputs;
  std::vector<array> states;
};

struct ExportedFunction {
  std::string name = "main";
  std::vector<ExportedInput> inputs;
  std::vector<ExportedState> states;
  std::function<ExportedResults(const ExportedArrays&)> body;
};

// The first function is the default. The package is written completely or not at all.
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<ExportedFunction>& functions);

// One function "main" that is already recorded; `inputs` are placeholders (compile.h).
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<NamedArray>& inputs,
                               const std::vector<NamedArray>& outputs,
                               const std::vector<NamedState>& states = std::vector<NamedState>());

}  // namespace pippin::mx
