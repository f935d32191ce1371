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

// A name and an array.
using NamedArray = std::pair<std::string, array>;
// A state of the package: a placeholder for its value before a prediction, and its value after.
struct NamedState {
  std::string name;  // the state's name in the package
  // Its placeholder, and its value after a prediction: float16, of the same shape.
  array before, after;
};

// One size of an input: a number, or a range for callers to choose from. Ranges with the same name
// are the same size.
struct ExportedSize {
  // A fixed size.
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are sizes
  ExportedSize(int64_t size) : lower(size), upper(size) {}
  // A range, both ends included; an upper bound below 0 means none.
  ExportedSize(int64_t from, int64_t to, std::string name_of_size = "")
      : lower(from), upper(to), name(std::move(name_of_size)) {}
  // Whether callers may choose.
  bool is_range() const { return lower != upper; }

  int64_t lower, upper;  // the bounds, both included; `upper` below 0: none
  std::string name;      // the name of a size that several inputs share; empty: none
};

// An input of the package.
struct ExportedInput {
  std::string name;  // the input's name in the package; must be unique among inputs and states
  Dtype dtype;       // the type of the array that the body gets
  std::vector<ExportedSize> shape;  // a size or a range per axis
  // Instead of ranges: the shapes that callers may choose from, the default first. At most one
  // input of a function may have them, and then no input has ranges.
  std::vector<Shape> shapes = {};
};
// A state of the package: float16, initially zero.
struct ExportedState {
  std::string name;  // the state's name in the package
  Shape shape;       // its sizes
};

// The arguments of a body, in the order of the inputs and states.
struct ExportedArrays {
  std::vector<array> inputs, states;  // in the order of ExportedFunction::inputs and ::states
};
// The results of a body: the outputs, and the new value of each state.
struct ExportedResults {
  std::vector<NamedArray> outputs;  // the outputs, by name
  // The new value of each state, in the order of ExportedFunction::states.
  std::vector<array> states;
};

// A function of the package.
struct ExportedFunction {
  std::string name = "main";                                   // its name, unique in the package
  std::vector<ExportedInput> inputs;                           // its inputs
  std::vector<ExportedState> states;                           // its states
  std::function<ExportedResults(const ExportedArrays&)> body;  // the computation to record
};

// Writes functions as a Core ML package; the first one is the default. The package is written
// completely or not at all. Throws InvalidArgument for no functions, names given twice, outputs
// that differ between sizes, states of another type or shape and sizes out of range; Unsupported,
// with the operation's name, for operations that cannot be exported; Io.
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<ExportedFunction>& functions);

// Writes one function "main" that is already recorded; `inputs` are placeholders
// (Trace::placeholder()). Throws as above, and InvalidArgument for inputs that are not
// placeholders.
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<NamedArray>& inputs,
                               const std::vector<NamedArray>& outputs,
                               const std::vector<NamedState>& states = std::vector<NamedState>());

}  // namespace pippin::mx
