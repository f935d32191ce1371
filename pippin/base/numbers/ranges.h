// Algorithms over whole ranges, because some C++ libraries (libc++ 14, Macs of 2022) lack
// std::ranges.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

namespace pippin::ranges {

template <typename Range, typename Condition>
bool all_of(const Range& range, Condition&& condition) {
  return std::all_of(std::begin(range), std::end(range), std::forward<Condition>(condition));
}

template <typename Range, typename Condition>
bool any_of(const Range& range, Condition&& condition) {
  return std::any_of(std::begin(range), std::end(range), std::forward<Condition>(condition));
}

// The range must be sorted.
template <typename Range, typename Value>
bool binary_search(const Range& range, const Value& value) {
  return std::binary_search(std::begin(range), std::end(range), value);
}

template <typename Range, typename Value>
bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

template <typename Range, typename Output>
void copy(const Range& range, Output out) {
  std::copy(std::begin(range), std::end(range), out);
}

template <typename First, typename Second>
bool equal(const First& first, const Second& second) {
  return std::equal(std::begin(first), std::end(first), std::begin(second), std::end(second));
}

template <typename Range, typename... Order>
void sort(Range& range, Order&&... order) {
  std::sort(std::begin(range), std::end(range), std::forward<Order>(order)...);
}

}  // namespace pippin::ranges
