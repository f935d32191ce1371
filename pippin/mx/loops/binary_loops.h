// Functions of two numbers, over runs of elements.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/mx/core/convert.h"

namespace pippin::mx {

enum class BinaryOp : uint8_t {
  Add,
  ArcTan2,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  Divide,
  FloorDivide,  // integers: x // 0 is 0
  LeftShift,    // by the bit width or more: 0
  LogAddExp,
  LogicalAnd,
  LogicalOr,
  Maximum,  // NaN if either is NaN
  Minimum,
  Multiply,
  Power,      // integers wrap; a negative exponent gives 0 unless the base is 1 or -1
  Remainder,  // has the sign of the divisor; integers: x % 0 is 0
  RightShift,
  Subtract,
};

enum class CompareOp : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

std::string_view to_string(BinaryOp op);
std::string_view to_string(CompareOp op);

// A step is 1, or 0 for a single number used for all elements. y may be an input whose step is 1.
using BinaryFunction = void (*)(const void* a, int64_t a_step, const void* b, int64_t b_step,
                                void* y, int64_t count);
// Null if the op has no meaning for the kind.
BinaryFunction binary_function(BinaryOp op, Kind kind);
// y receives bytes of 0 and 1, and must not be an input.
BinaryFunction compare_function(CompareOp op, Kind kind);
int binary_cost(BinaryOp op);

}  // namespace pippin::mx
