// The same elements in another shape: views if strides can express it, otherwise copies.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// One size may be -1: computed from the others.
PIPPIN_API array reshape(const array& a, const Shape& shape);
PIPPIN_API array flatten(const array& a, int start_axis = 0, int end_axis = -1);
PIPPIN_API array unflatten(const array& a, int axis, const Shape& shape);
PIPPIN_API array squeeze(const array& a, const std::vector<int>& axes);
PIPPIN_API array squeeze(const array& a);  // all axes of size 1
PIPPIN_API array expand_dims(const array& a, const std::vector<int>& axes);
inline array squeeze(const array& a, int axis) {
  return squeeze(a, std::vector<int>{axis});
}
inline array expand_dims(const array& a, int axis) {
  return expand_dims(a, std::vector<int>{axis});
}
PIPPIN_API array transpose(const array& a, const std::vector<int>& axes);
PIPPIN_API array transpose(const array& a);  // reverses all axes
PIPPIN_API array swapaxes(const array& a, int axis1, int axis2);
PIPPIN_API array moveaxis(const array& a, int source, int destination);
PIPPIN_API array broadcast_to(const array& a, const Shape& shape);
PIPPIN_API std::vector<array> broadcast_arrays(const std::vector<array>& arrays);
PIPPIN_API array as_strided(const array& a, const Shape& shape, const Strides& strides,
                            int64_t offset);
PIPPIN_API array atleast_1d(const array& a);
PIPPIN_API array atleast_2d(const array& a);
PIPPIN_API array atleast_3d(const array& a);
// A row-major array; `allow_col_major` also accepts one whose transpose is row-major.
PIPPIN_API array contiguous(const array& a, bool allow_col_major = false);
PIPPIN_API array copy(const array& a);
PIPPIN_API array diagonal(const array& a, int offset = 0, int axis1 = 0, int axis2 = 1);
PIPPIN_API array diag(const array& a, int k = 0);
PIPPIN_API array trace(const array& a, int offset = 0, int axis1 = 0, int axis2 = 1,
                       std::optional<Dtype> dtype = std::nullopt);
PIPPIN_API array flip(const array& a, const std::optional<std::vector<int>>& axes = std::nullopt);

// Basic slices: [start, stop) by strides, one of each per axis; bounds are clamped as in Python.
PIPPIN_API array slice(const array& a, Shape start, Shape stop, Shape strides);
PIPPIN_API array slice(const array& a, const Shape& start, const Shape& stop);
inline array slice(const array& a, std::initializer_list<int64_t> start, const Shape& stop,
                   const Shape& strides) {
  return slice(a, Shape(start), stop, strides);
}
inline array slice(const array& a, std::initializer_list<int64_t> start, const Shape& stop) {
  return slice(a, Shape(start), stop);
}
// With computed starts: `start` has one for each of `axes`, clamped to fit.
PIPPIN_API array slice(const array& a, const array& start, const std::vector<int>& axes,
                       const Shape& slice_size);
PIPPIN_API std::vector<array> split(const array& a, int num_splits, int axis = 0);
PIPPIN_API std::vector<array> split(const array& a, const Shape& indices, int axis = 0);
PIPPIN_API std::vector<array> unstack(const array& a, int axis = 0);

PIPPIN_API array concatenate(const std::vector<array>& arrays, int axis = 0);
PIPPIN_API array stack(const std::vector<array>& arrays, int axis = 0);
PIPPIN_API array repeat(const array& a, int repeats, std::optional<int> axis = std::nullopt);
PIPPIN_API array tile(const array& a, const std::vector<int>& repetitions);
// `widths` are the numbers before and after, per axis. Modes "constant", "edge", "reflect"
// (excluding the ends) and "symmetric" (repeating the ends).
PIPPIN_API array pad(const array& a, const std::vector<std::pair<int, int>>& widths,
                     const array& value = array(0), const std::string& mode = "constant");
PIPPIN_API array roll(const array& a, const Shape& shifts,
                      const std::optional<std::vector<int>>& axes = std::nullopt);

}  // namespace pippin::mx
