// A function over arrays as a Core ML package.
//
//   mx::ExportedFunction twice;
//   twice.inputs = {{"x", mx::float16, {1, {1, 512}}}};
//   twice.body = [](const mx::ExportedArrays& in) {
//     return mx::ExportedResults{{{"y", in.inputs[0] * 2.0f}}, {}};
//   };
//   mx::export_package("twice.mlpackage", {twice});
//
// The body is called with arrays that have no values, several times where sizes are for callers to
// choose: once for each of a few sizes. What follows from the sizes is computed in the package;
// what does not, and what MIL has no operation for, is refused by name (Unsupported). Sizes of 1
// are not tried, but for the structure of what is recorded.
//
// bfloat16 and float64 become fp32, integers int32; arrays that are there already become constants,
// quantized ones stay so. Equal weights of several functions are written once.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/array.h"

namespace pippin::mx {

using NamedArray = std::pair<std::string, array>;
// A state of the package: what it is when a prediction begins, a placeholder, and at its end.
struct NamedState {
  std::string name;
  array before, after;
};

// One size of an input: a number, or a range of which callers choose. Ranges of one name are the
// same size.
struct ExportedSize {
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are sizes
  ExportedSize(int64_t size) : lower(size), upper(size) {}
  // An upper bound below 0: none.
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
  // Instead of ranges: the shapes that callers choose of, the default one first. One input of a
  // function may have them, and then no input has ranges.
  std::vector<Shape> shapes = {};
};
// float16, zeros in the beginning.
struct ExportedState {
  std::string name;
  Shape shape;
};

// What a body gets, in the order of the inputs and states.
struct ExportedArrays {
  std::vector<array> inputs, states;
};
// What it gives: the outputs, and what each state becomes.
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

// The first function is the default one. The package appears complete or not at all.
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<ExportedFunction>& functions);

// One function "main" that is recorded already; `inputs` are placeholders (compile.h).
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<NamedArray>& inputs,
                               const std::vector<NamedArray>& outputs,
                               const std::vector<NamedState>& states = std::vector<NamedState>());

}  // namespace pippin::mx
