// Reductions, along axes or over all of them.
//
// The result has a's shape without the reduced axes, or, with `keepdims`, with size 1 in their
// place. Without `axes` everything is reduced; an empty list reduces nothing and only converts the
// type. An axis that does not exist, or is given twice, throws InvalidArgument.
//
// Sums and products of bools and integers are int32 or uint32, or 64-bit if the elements are, and
// wrap around; floats are summed in float32 or wider and rounded once. Only sum, prod, mean, var,
// std and count_nonzero support complex64.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// The axes of a reduction; nullopt means all.
using Axes = std::optional<std::vector<int>>;

// Returns the sum of the elements; 0 if there are none.
PIPPIN_API array sum(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the product of the elements; 1 if there are none.
PIPPIN_API array prod(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the largest element in a's type, or NaN if an element is NaN. Throws InvalidArgument for
// an axis without elements.
PIPPIN_API array max(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the smallest element in a's type, or NaN if an element is NaN. Throws InvalidArgument for
// an axis without elements.
PIPPIN_API array min(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns bools: whether all elements are other than 0; true if there are none.
PIPPIN_API array all(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns bools: whether an element is other than 0; false if there are none.
PIPPIN_API array any(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the arithmetic mean, for bools and integers in float32; NaN if there are no elements.
PIPPIN_API array mean(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the variance, mean(|a - mean|²) with the divisor n - ddof, computed in two passes; in
// float32 for bools and integers. A divisor below 0 counts as 0. complex64 gives the sum of both
// parts' variances.
PIPPIN_API array var(const array& a, const Axes& axes = std::nullopt, bool keepdims = false,
                     int ddof = 0);
// Returns the standard deviation, √var().
PIPPIN_API array std(const array& a, const Axes& axes = std::nullopt, bool keepdims = false,
                     int ddof = 0);
// Returns the median, for bools and integers in float32: the mean of the middle two of an even
// number, and NaN if an element is NaN. Throws InvalidArgument if there are no elements.
PIPPIN_API array median(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns log(Σ exp(a)) without overflow, for bools and integers in float32. Throws InvalidArgument
// if there are no elements.
PIPPIN_API array logsumexp(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
// Returns the number of elements other than 0, int32.
PIPPIN_API array count_nonzero(const array& a, const Axes& axes = std::nullopt,
                               bool keepdims = false);
// Returns exp(a) / Σ exp(a) along the axes, of a's shape, for bools and integers in float32. Halves
// are computed in float32 whether or not `precise` is set.
PIPPIN_API array softmax(const array& a, const Axes& axes = std::nullopt, bool precise = false);

// The same along one axis:
inline array sum(const array& a, int axis, bool keepdims = false) {
  return sum(a, std::vector<int>{axis}, keepdims);
}
inline array prod(const array& a, int axis, bool keepdims = false) {
  return prod(a, std::vector<int>{axis}, keepdims);
}
inline array max(const array& a, int axis, bool keepdims = false) {
  return max(a, std::vector<int>{axis}, keepdims);
}
inline array min(const array& a, int axis, bool keepdims = false) {
  return min(a, std::vector<int>{axis}, keepdims);
}
inline array all(const array& a, int axis, bool keepdims = false) {
  return all(a, std::vector<int>{axis}, keepdims);
}
inline array any(const array& a, int axis, bool keepdims = false) {
  return any(a, std::vector<int>{axis}, keepdims);
}
inline array mean(const array& a, int axis, bool keepdims = false) {
  return mean(a, std::vector<int>{axis}, keepdims);
}
inline array logsumexp(const array& a, int axis, bool keepdims = false) {
  return logsumexp(a, std::vector<int>{axis}, keepdims);
}
inline array softmax(const array& a, int axis, bool precise = false) {
  return softmax(a, std::vector<int>{axis}, precise);
}

// Returns the index of the largest element along an axis, uint32: the first among equals, and NaN
// before others. Without an axis, the index into the flattened array. Throws InvalidArgument for an
// array without elements.
PIPPIN_API array argmax(const array& a, std::optional<int> axis = std::nullopt,
                        bool keepdims = false);
// Returns the index of the smallest element along an axis, uint32: the first among equals, and NaN
// before others. Without an axis, the index into the flattened array. Throws InvalidArgument for an
// array without elements.
PIPPIN_API array argmin(const array& a, std::optional<int> axis = std::nullopt,
                        bool keepdims = false);

}  // namespace pippin::mx
