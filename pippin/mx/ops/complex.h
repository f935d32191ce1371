// Arithmetic of complex64, expressed by real and imaginary parts, in float64 internally.
#pragma once

#include "pippin/mx/core/array.h"
#include "pippin/mx/loops/binary_loops.h"
#include "pippin/mx/loops/unary_loops.h"

namespace pippin::mx {

// The parts are floats and broadcast together.
array make_complex(const array& real, const array& imaginary);

// Throw InvalidArgument for operations that complex numbers do not have. Operands are promoted. The
// magnitude (Abs) is float32, comparisons are bool: the real parts decide first.
array complex_unary(UnaryOp op, const array& a);
array complex_binary(BinaryOp op, const array& a, const array& b);
array complex_compare(CompareOp op, const array& a, const array& b);
// The product along one axis, which is kept with size 1.
array complex_prod(const array& a, int axis);

}  // namespace pippin::mx
