// MIL as text, in the form of compiled packages' model.mil; printed by `pippin inspect --mil`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/mil/program.h"

namespace pippin::mil {

struct PrintOptions {
  // Weights in files print as BLOBFILE(path, offset); if `values` is set, as their elements.
  bool values = false;
  // Returns the location of a constant's elements in a weight file; it overrides the constant's
  // own. If it returns nullopt, the elements are printed.
  std::function<std::optional<BlobReference>(const Value&)> blob_of = {};
};

std::string print(const Program& program, const PrintOptions& options = {});

// Parses the output of print() and of Apple's compiler (program(1.0) to program(1.3)). The result
// is not verified yet. Throws InvalidFile with line and column; nesting and sizes are limited.
Program parse_text(std::string_view text, std::string_view name);

}  // namespace pippin::mil
