// Axes of operations along some of them.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The axes of a parameter (absent: all), counted from the front. Throws Unsupported where they are
// not constant.
std::set<int64_t> axes_param(const Builder& builder, const mil::Operation& operation, int64_t rank);

// The permutation that moves `axes` to the end, and the one that takes it back.
std::vector<int64_t> axes_last(const std::set<int64_t>& axes, int64_t rank);
std::vector<int64_t> inverse(const std::vector<int64_t>& perm);

// The elements of the axes [begin, end) together.
mil::Dim axes_product(const mil::Shape& shape, int64_t begin, int64_t end);

// The view in another shape of the same size; copied if it must be.
View reshaped(Builder& builder, const View& view, const mil::Shape& shape);
// The view as [outer, size, inner] around an axis.
View around_axis(Builder& builder, const View& view, int64_t axis);

// Throws Unsupported for integers of other than 32 bits: plans keep them in 32, and what is
// computed of them would not wrap as they do.
void need_whole_integers(const Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
