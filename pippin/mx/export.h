// A recorded function as a Core ML package.
//
//   const mx::array x = mx::Trace::placeholder(mx::float16, {1, 64});
//   mx::export_package("double.mlpackage", {{"x", x}}, {{"y", x * 2}});
//
// What MIL has no operation for is refused by name (Unsupported). bfloat16 and float64 become fp32,
// integers int32; arrays that are there already become constants.
#pragma once

#include <filesystem>
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

// `inputs` are placeholders (compile.h). The package appears complete or not at all.
PIPPIN_API void export_package(const std::filesystem::path& path,
                               const std::vector<NamedArray>& inputs,
                               const std::vector<NamedArray>& outputs,
                               const std::vector<NamedState>& states = std::vector<NamedState>());

}  // namespace pippin::mx
