// Cumulative operations, and sorting.
//
// NaN sorts after all numbers. Sorting is stable. Without an axis, the array is flattened.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Along an axis; `inclusive` includes the element itself; `reverse` starts at the end.
PIPPIN_API array cumsum(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true,
                        std::optional<Dtype> dtype = std::nullopt);
PIPPIN_API array cumprod(const array& a, std::optional<int> axis = std::nullopt,
                         bool reverse = false, bool inclusive = true,
                         std::optional<Dtype> dtype = std::nullopt);
PIPPIN_API array cummax(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true);
PIPPIN_API array cummin(const array& a, std::optional<int> axis = std::nullopt,
                        bool reverse = false, bool inclusive = true);
PIPPIN_API array logcumsumexp(const array& a, std::optional<int> axis = std::nullopt,
                              bool reverse = false, bool inclusive = true);
PIPPIN_API array diff(const array& a, int n = 1, int axis = -1);

PIPPIN_API array sort(const array& a, std::optional<int> axis = -1);
PIPPIN_API array argsort(const array& a, std::optional<int> axis = -1);  // uint32
// Puts the element with sorted index `kth` there, smaller ones before it, larger ones after.
PIPPIN_API array partition(const array& a, int kth, std::optional<int> axis = -1);
PIPPIN_API array argpartition(const array& a, int kth, std::optional<int> axis = -1);
// The k largest, in unspecified order.
PIPPIN_API array topk(const array& a, int k, std::optional<int> axis = -1);
// The positions at which values would be inserted into a sorted vector; `side` is "left" or "right"
// of equals. uint32.
PIPPIN_API array searchsorted(const array& sorted, const array& values,
                              const std::string& side = "left");

}  // namespace pippin::mx
