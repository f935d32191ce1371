// MIL as text, in the form of compiled packages' model.mil: what `pippin inspect --mil` prints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/mil/program.h"

namespace pippin::mil {

struct PrintOptions {
  // Weights in files print as BLOBFILE(path, offset); with `values` their elements.
  bool values = false;
  // Where a constant's elements stand in a weight file, instead of what the constant says. Those
  // that it gives no place print their elements.
  std::function<std::optional<BlobReference>(const Value&)> blob_of = {};
};

std::string print(const Program& program, const PrintOptions& options = {});

// Parses what print() gives and what Apple's compiler writes (program(1.0) to program(1.3)). The
// result is not yet verified. Throws InvalidFile with line and column; nesting and sizes are
// limited.
Program parse_text(std::string_view text, std::string_view name);

}  // namespace pippin::mil
