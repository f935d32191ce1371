// The same elements in another shape, order or number. The results are views if strides can express
// them, otherwise copies.
//
// Negative axes count from the end. An axis that does not exist, or is given twice, throws
// InvalidArgument with the operation's name.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns the elements in row-major order in another shape. One size may be -1: computed from the
// others. Throws InvalidArgument if the number of elements differs.
PIPPIN_API array reshape(const array& a, const Shape& shape);
// Returns `a` with axes start_axis to end_axis (included) merged into one; a number becomes a
// vector of one. Axes out of range are limited. Throws InvalidArgument if no axis is left between
// them.
PIPPIN_API array flatten(const array& a, int start_axis = 0, int end_axis = -1);
// Returns `a` with one axis split into several of the sizes `shape`, one of which may be -1. Throws
// InvalidArgument for an empty shape, or if the product is not the axis' size.
PIPPIN_API array unflatten(const array& a, int axis, const Shape& shape);
// Returns `a` without these axes, which must have size 1. Throws InvalidArgument otherwise.
PIPPIN_API array squeeze(const array& a, const std::vector<int>& axes);
// Returns `a` without any axes of size 1.
PIPPIN_API array squeeze(const array& a);
// Returns `a` with axes of size 1 inserted: `axes` are their positions in the result.
PIPPIN_API array expand_dims(const array& a, const std::vector<int>& axes);
// Returns `a` without this axis, which must have size 1. Throws InvalidArgument otherwise.
inline array squeeze(const array& a, int axis) {
  return squeeze(a, std::vector<int>{axis});
}
// Returns `a` with an axis of size 1 inserted at this position of the result.
inline array expand_dims(const array& a, int axis) {
  return expand_dims(a, std::vector<int>{axis});
}
// Returns `a` with its axes permuted: axis i of the result is axis axes[i] of `a`. Throws
// InvalidArgument unless `axes` is a permutation of all axes.
PIPPIN_API array transpose(const array& a, const std::vector<int>& axes);
// Returns `a` with its axes in reverse order.
PIPPIN_API array transpose(const array& a);
// Returns `a` with two axes exchanged.
PIPPIN_API array swapaxes(const array& a, int axis1, int axis2);
// Returns `a` with axis `source` moved to position `destination`; the others keep their order.
PIPPIN_API array moveaxis(const array& a, int source, int destination);
// Returns `a` repeated to `shape`, by the rule of binary.h, without copying. Throws InvalidArgument
// if it cannot be broadcast.
PIPPIN_API array broadcast_to(const array& a, const Shape& shape);
// Returns all arrays broadcast to their common shape. Throws InvalidArgument if there is none.
PIPPIN_API std::vector<array> broadcast_arrays(const std::vector<array>& arrays);
// Returns a view of a's elements in row-major order: element [i, j, ...] is number offset + i *
// strides[0] + j * strides[1] + ...; strides and offset count elements. Throws InvalidArgument for
// another number of strides than sizes, or if an element is outside the array.
PIPPIN_API array as_strided(const array& a, const Shape& shape, const Strides& strides,
                            int64_t offset);
// Returns `a` with at least one axis: a number becomes a vector of one.
PIPPIN_API array atleast_1d(const array& a);
// Returns `a` with at least two axes: n elements become (1, n).
PIPPIN_API array atleast_2d(const array& a);
// Returns `a` with at least three axes: n elements become (1, n, 1), and (n, m) becomes (n, m, 1).
PIPPIN_API array atleast_3d(const array& a);
// Returns a row-major array: `a` itself if it is one, otherwise a copy. `allow_col_major` also
// accepts an array whose transpose is row-major.
PIPPIN_API array contiguous(const array& a, bool allow_col_major = false);
// Returns an array with a's elements, row-major or column-major; it may share a's memory.
PIPPIN_API array copy(const array& a);
// Returns the diagonals of the matrices in axis1 and axis2 as a new last axis, without those axes.
// A positive `offset` is above the main diagonal. Throws InvalidArgument for fewer than two axes.
PIPPIN_API array diagonal(const array& a, int offset = 0, int axis1 = 0, int axis2 = 1);
// Returns diagonal k of a matrix as a vector, or a square matrix with a vector on diagonal k and
// zeros elsewhere. Throws InvalidArgument for other ranks.
PIPPIN_API array diag(const array& a, int k = 0);
// Returns the sums of diagonal(), of type `dtype`; by default, the type of sum().
PIPPIN_API array trace(const array& a, int offset = 0, int axis1 = 0, int axis2 = 1,
                       std::optional<Dtype> dtype = std::nullopt);
// Returns `a` with its elements in reverse order along these axes; by default, along all.
PIPPIN_API array flip(const array& a, const std::optional<std::vector<int>>& axes = std::nullopt);

// Returns a[start:stop:strides], one of each per axis: elements start, start + stride, ... before
// stop. Negative bounds count from the end, and all are clamped as in Python. Throws
// InvalidArgument for a stride of 0 or another number of bounds than axes.
PIPPIN_API array slice(const array& a, Shape start, Shape stop, Shape strides);
PIPPIN_API array slice(const array& a, const Shape& start, const Shape& stop);
inline array slice(const array& a, std::initializer_list<int64_t> start, const Shape& stop,
                   const Shape& strides) {
  return slice(a, Shape(start), stop, strides);
}
inline array slice(const array& a, std::initializer_list<int64_t> start, const Shape& stop) {
  return slice(a, Shape(start), stop);
}
// The same with computed starts: `start` has one for each of `axes`, clamped to fit.
PIPPIN_API array slice(const array& a, const array& start, const std::vector<int>& axes,
                       const Shape& slice_size);
// Returns `num_splits` equal parts along an axis. Throws InvalidArgument if the axis' size is not a
// multiple.
PIPPIN_API std::vector<array> split(const array& a, int num_splits, int axis = 0);
// Returns the parts before, between and after these positions along an axis: one more than indices.
// Positions are those of slice(); parts may be empty.
PIPPIN_API std::vector<array> split(const array& a, const Shape& indices, int axis = 0);
// Returns the elements along an axis as separate arrays, without that axis.
PIPPIN_API std::vector<array> unstack(const array& a, int axis = 0);

// Returns the arrays joined along an axis, in the promoted type. Throws InvalidArgument without
// arrays, or if other axes differ in size.
PIPPIN_API array concatenate(const std::vector<array>& arrays, int axis = 0);
// Returns the arrays joined along a new axis. Throws InvalidArgument without arrays, or if shapes
// differ.
PIPPIN_API array stack(const std::vector<array>& arrays, int axis = 0);
// Returns `a` with each element along an axis repeated `repeats` times in place; without an axis,
// of the flattened array. Throws InvalidArgument for a negative number.
PIPPIN_API array repeat(const array& a, int repeats, std::optional<int> axis = std::nullopt);
// Returns copies of the whole array along each axis: `repetitions` aligns with the last axes, and
// the shorter list is extended by 1 at the front. Throws InvalidArgument for a negative number.
PIPPIN_API array tile(const array& a, const std::vector<int>& repetitions);
// Returns `a` with elements added before and after along each axis: `widths` has a pair per axis.
// Modes "constant" (`value`, converted to a's type), "edge", "reflect" (excluding the ends) and
// "symmetric" (repeating the ends). Throws InvalidArgument for another mode, another number of
// pairs, negative widths, several values, or modes other than "constant" on an axis without
// elements.
PIPPIN_API array pad(const array& a, const std::vector<std::pair<int, int>>& widths,
                     const array& value = array(0), const std::string& mode = "constant");
// Returns `a` with elements shifted by shifts[i] places along axes[i], those beyond the end coming
// in at the front; a single shift applies to all axes. Without axes, the flattened array is rolled
// by the sum. Throws InvalidArgument for another number of shifts.
PIPPIN_API array roll(const array& a, const Shape& shifts,
                      const std::optional<std::vector<int>>& axes = std::nullopt);

}  // namespace pippin::mx
