// Reductions, along axes or over all of them. Without axes everything is reduced; an empty list of
// axes reduces nothing.
//
// Sums of bools and integers are int32 or uint32, or 64-bit if the elements are; floats are summed
// in float32 or wider and rounded once. max and min give NaN if there is one.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// The axes of a reduction; nullopt means all.
using Axes = std::optional<std::vector<int>>;

PIPPIN_API array sum(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array prod(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array max(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array min(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array all(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array any(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array mean(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array var(const array& a, const Axes& axes = std::nullopt, bool keepdims = false,
                     int ddof = 0);
PIPPIN_API array std(const array& a, const Axes& axes = std::nullopt, bool keepdims = false,
                     int ddof = 0);
PIPPIN_API array median(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array logsumexp(const array& a, const Axes& axes = std::nullopt, bool keepdims = false);
PIPPIN_API array count_nonzero(const array& a, const Axes& axes = std::nullopt,
                               bool keepdims = false);
PIPPIN_API array softmax(const array& a, const Axes& axes = std::nullopt, bool precise = false);

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

// The index of the largest or the smallest element: the first of equals, NaN before others; uint32.
// Without an axis, an index into the flattened array.
PIPPIN_API array argmax(const array& a, std::optional<int> axis = std::nullopt,
                        bool keepdims = false);
PIPPIN_API array argmin(const array& a, std::optional<int> axis = std::nullopt,
                        bool keepdims = false);

}  // namespace pippin::mx
