// Cumulative operations, and sorting.
//
// Without an axis, the array is flattened first. NaN sorts after all numbers; complex64 is sorted
// by the real parts, then the imaginary ones. An axis that does not exist throws InvalidArgument.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns the sums of the elements up to each one along an axis, of a's shape; with `reverse`, from
// the end. Without `inclusive` an element is not part of its own sum, and the first sum is 0. The
// type is `dtype`; by default a's own, or int32 for bool.
PIPPIN_API array cumsum(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true,
                        std::optional<Dtype> dtype = std::nullopt);
// Returns the products of the elements up to each one, as cumsum(); the first one is 1 without
// `inclusive`. The type is `dtype`, by default a's own. Throws Unsupported for complex64.
PIPPIN_API array cumprod(const array& a, std::optional<int> axis = std::nullopt,
                         bool reverse = false, bool inclusive = true,
                         std::optional<Dtype> dtype = std::nullopt);
// Returns the largest of the elements up to each one, and NaN from the first NaN on, as cumsum();
// the first one is -infinity, or the smallest integer, without `inclusive`. Throws Unsupported for
// complex64.
PIPPIN_API array cummax(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true);
// Returns the smallest of the elements up to each one, and NaN from the first NaN on, as cumsum();
// the first one is infinity, or the largest integer, without `inclusive`. Throws Unsupported for
// complex64.
PIPPIN_API array cummin(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true);
// Returns log(Σ exp(a)) of the elements up to each one, as cumsum(), for integers in float32; the
// first one is -infinity without `inclusive`. Throws Unsupported for complex64.
PIPPIN_API array logcumsumexp(const array& a, std::optional<int> axis = std::nullopt,
                              bool reverse = false, bool inclusive = true);
// Returns the n-th differences of neighbours along an axis, which becomes shorter by n; for bools,
// whether they differ. Throws InvalidArgument for a negative n.
PIPPIN_API array diff(const array& a, int n = 1, int axis = -1);

// Returns the elements in ascending order along an axis.
PIPPIN_API array sort(const array& a, std::optional<int> axis = -1);
// Returns the indices that sort() takes the elements from, uint32; equal elements keep their order.
PIPPIN_API array argsort(const array& a, std::optional<int> axis = -1);
// Returns the elements along an axis such that the one with sorted index `kth` (negative: from the
// end) is in its place, smaller ones before it and larger ones after it, each in unspecified order.
// Throws InvalidArgument for an index out of range, Unsupported for complex64.
PIPPIN_API array partition(const array& a, int kth, std::optional<int> axis = -1);
// Returns the indices that partition() takes the elements from, uint32. Throws as partition().
PIPPIN_API array argpartition(const array& a, int kth, std::optional<int> axis = -1);
// Returns the k largest elements along an axis, which then has size k, in unspecified order. Throws
// InvalidArgument if k is negative or larger than the axis, Unsupported for complex64.
PIPPIN_API array topk(const array& a, int k, std::optional<int> axis = -1);
// Returns, for each of `values`, the position at which it would be inserted into the vector
// `sorted`: before ("left") or after ("right") equal elements; uint32, of the shape of `values`.
// Throws InvalidArgument for another `side` or if `sorted` is not a vector, Unsupported for
// complex64.
PIPPIN_API array searchsorted(const array& sorted, const array& values,
                              const std::string& side = "left");

}  // namespace pippin::mx
