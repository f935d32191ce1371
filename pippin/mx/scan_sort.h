// Sums so far, and orders.
//
// NaN sorts behind all numbers. Sorting is stable. Without an axis the flattened array is taken.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/array.h"

namespace pippin::mx {

// Along an axis; `inclusive`: with the element itself; `reverse`: from the end.
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
// The element that sorting would put at `kth` is there; smaller ones before it, larger ones behind.
PIPPIN_API array partition(const array& a, int kth, std::optional<int> axis = -1);
PIPPIN_API array argpartition(const array& a, int kth, std::optional<int> axis = -1);
// The k largest, in no promised order.
PIPPIN_API array topk(const array& a, int k, std::optional<int> axis = -1);
// Where values would go into a sorted vector; `side` "left" or "right" of equals. uint32.
PIPPIN_API array searchsorted(const array& sorted, const array& values,
                              const std::string& side = "left");

}  // namespace pippin::mx
