// Shapes and strides, and helpers for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/mx/core/small_vector.h"

namespace pippin::mx {

using Shape = SmallVector<int64_t, 5>;
using Strides = SmallVector<int64_t, 5>;  // in elements

// "(2,3)", "(2,)", "()".
PIPPIN_API std::string to_string(const Shape& shape);

// The product of the sizes. Throws InvalidArgument for a negative size, LimitExceeded if the
// product overflows.
PIPPIN_API int64_t num_elements(const Shape& shape);

PIPPIN_API Strides row_major_strides(const Shape& shape);
// Whether the elements are contiguous in index order. Ignores axes of size 1.
PIPPIN_API bool is_row_major(const Shape& shape, const Strides& strides);

// NumPy's rule. The errors name `op`.
PIPPIN_API Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);
// The strides of an array of `shape` broadcast to `wanted`.
PIPPIN_API Strides broadcast_strides(const Shape& shape, const Strides& strides,
                                     const Shape& wanted);

// The axis counted from the start. Throws InvalidArgument if it does not exist.
PIPPIN_API int normal_axis(std::string_view op, int axis, size_t ndim);
// Normalizes several axes and sorts them; rejects duplicates.
PIPPIN_API std::vector<int> normal_axes(std::string_view op, std::span<const int> axes,
                                        size_t ndim);

}  // namespace pippin::mx
