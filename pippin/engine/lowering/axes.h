// Helpers for operations along some axes.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The axes of a parameter (absent: all), counted from the front. Throws Unsupported if they are not
// constant.
std::set<int64_t> axes_param(const Builder& builder, const mil::Operation& operation, int64_t rank);

// The permutation that moves `axes` to the end, and its inverse.
std::vector<int64_t> axes_last(const std::set<int64_t>& axes, int64_t rank);
std::vector<int64_t> inverse(const std::vector<int64_t>& perm);

// The product of the sizes of the axes [begin, end).
mil::Dim axes_product(const mil::Shape& shape, int64_t begin, int64_t end);

// The view in another shape of the same size; copied if necessary.
View reshaped(Builder& builder, const View& view, const mil::Shape& shape);
// The view as [outer, size, inner] around an axis.
View around_axis(Builder& builder, const View& view, int64_t axis);

// Throws Unsupported for integers of other than 32 bits: plans keep them in 32, and results would
// not wrap around at their width.
void need_whole_integers(const Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
