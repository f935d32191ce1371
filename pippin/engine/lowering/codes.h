// The meaning of `quantize` and `dequantize`, for their rules and fusions.
#pragma once

#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The scales of an operation's slices along its axis; one for all elements if its parameters are
// not vectors.
struct CodeScales {
  mil::Shape shape;  // the input's as [outer, slices, inner]
  std::vector<kernels::CodeScale> slices;
};

// Of a quantize or dequantize; throws Unsupported if they are not constant, or no kernel supports
// them.
CodeScales code_scales(Builder& builder, const mil::Operation& operation);

// Defines the operation's result as `op` of x.
void emit_codes(Builder& builder, const mil::Operation& operation, CodeOp op, const View& x,
                const CodeScales& scales);

}  // namespace pippin::engine
