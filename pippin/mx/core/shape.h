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

// The sizes of an array's axes.
using Shape = SmallVector<int64_t, 5>;
// The distances between neighbours along each axis, in elements.
using Strides = SmallVector<int64_t, 5>;

// Returns "(2,3)", "(2,)" or "()".
PIPPIN_API std::string to_string(const Shape& shape);

// Returns the product of the sizes. Throws InvalidArgument for a negative size, LimitExceeded
// beyond 2^48 elements.
PIPPIN_API int64_t num_elements(const Shape& shape);

// Returns the strides of contiguous elements in row-major order.
PIPPIN_API Strides row_major_strides(const Shape& shape);
// Returns whether the elements are contiguous in index order. Ignores axes of size 1.
PIPPIN_API bool is_row_major(const Shape& shape, const Strides& strides);

// Returns the common shape by NumPy's rule: axes are aligned at the end, and axes of size 1 are
// repeated. Throws InvalidArgument, naming `op`, for other sizes that differ.
PIPPIN_API Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);
// Returns the strides of an array of `shape` broadcast to `wanted`: 0 along repeated axes.
PIPPIN_API Strides broadcast_strides(const Shape& shape, const Strides& strides,
                                     const Shape& wanted);

// Returns the axis counted from the start. Throws InvalidArgument, naming `op`, if it does not
// exist.
PIPPIN_API int normal_axis(std::string_view op, int axis, size_t ndim);
// Returns several axes counted from the start, sorted. Throws InvalidArgument, naming `op`, if one
// does not exist or is given twice.
PIPPIN_API std::vector<int> normal_axes(std::string_view op, std::span<const int> axes,
                                        size_t ndim);

}  // namespace pippin::mx
