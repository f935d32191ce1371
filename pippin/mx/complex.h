// Arithmetic of complex64, spelled with that of real and imaginary parts, in float64 in between.
#pragma once

#include "pippin/mx/array.h"
#include "pippin/mx/binary_loops.h"
#include "pippin/mx/unary_loops.h"

namespace pippin::mx {

// Of floats, which broadcast together.
array make_complex(const array& real, const array& imaginary);

// Throw InvalidArgument for what complex numbers have not. Operands are promoted. The size of a
// number (Abs) is float32, comparisons are bool: the real parts decide first.
array complex_unary(UnaryOp op, const array& a);
array complex_binary(BinaryOp op, const array& a, const array& b);
array complex_compare(CompareOp op, const array& a, const array& b);
// The product along one axis, which stays with one element.
array complex_prod(const array& a, int axis);

}  // namespace pippin::mx
