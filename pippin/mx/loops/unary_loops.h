// Functions of one number, over runs of elements.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/mx/core/convert.h"

namespace pippin::mx {

enum class UnaryOp : uint8_t {
  Abs,
  ArcCos,
  ArcCosh,
  ArcSin,
  ArcSinh,
  ArcTan,
  ArcTanh,
  BitwiseInvert,
  Ceil,
  Cos,
  Cosh,
  Erf,
  ErfInv,
  Exp,
  Expm1,
  Floor,
  Log,
  Log10,
  Log1p,
  Log2,
  LogicalNot,
  Negative,
  Round,  // ties to even
  Rsqrt,
  Sigmoid,
  Sign,
  Sin,
  Sinh,
  Sqrt,
  Square,
  Tan,
  Tanh,
};

std::string_view to_string(UnaryOp op);

// y may be x.
using UnaryFunction = void (*)(const void* x, void* y, int64_t count);
// Null if the op has no meaning for the kind: functions of real numbers for integers.
UnaryFunction unary_function(UnaryOp op, Kind kind);
// The approximate cost per element, in additions.
int unary_cost(UnaryOp op);

}  // namespace pippin::mx
