// Sorts rows by keys: for steps, and for arrays of other types than plans have.
//
// A key is an element's rank, inverted if large elements come first, followed by its position,
// which distinguishes equal elements: their order does not depend on the algorithm. NaN ranks last;
// zeros of both signs are equal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace pippin::engine {

// The key of elements of 8 bytes.
struct WideKey {
  uint64_t rank;
  uint32_t place;

  friend bool operator<(const WideKey& a, const WideKey& b) {
    return a.rank < b.rank || (a.rank == b.rank && a.place < b.place);
  }
};
template <typename T>
using SortKey = std::conditional_t<sizeof(T) == 4, uint64_t, WideKey>;

inline uint32_t place_of(uint64_t key) {
  return static_cast<uint32_t>(key);
}
inline uint32_t place_of(const WideKey& key) {
  return key.place;
}

// Maps the elements of 4 or 8 bytes to unsigned integers of the same order.
template <typename T>
auto rank_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kTop = Bits{1} << (sizeof(T) * 8 - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Bits{0};
    const auto bits = std::bit_cast<Bits>(x == 0 ? T{0} : x);
    return (bits & kTop) != 0 ? ~bits : bits | kTop;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Bits>(x) ^ kTop;
  } else {
    return static_cast<Bits>(x);
  }
}

// The key of element i of a row of less than 2^32.
template <typename T>
SortKey<T> sort_key(T x, int64_t i, bool ascending) {
  const auto rank = ascending ? rank_of(x) : ~rank_of(x);
  const auto place = static_cast<uint32_t>(i);
  if constexpr (sizeof(T) == 4) {
    return uint64_t{rank} << 32 | place;
  } else {
    return {rank, place};
  }
}

// Up to this many of the smallest keys are kept sorted during one pass over the row.
inline constexpr int64_t kFewKeys = 32;

// Writes the k smallest keys of a row in order, k up to kFewKeys; its element i is x(i).
template <typename T, typename Row>
void few_smallest_keys(const Row& x, int64_t n, int64_t k, bool ascending, SortKey<T>* keys) {
  if (k == 0) return;
  int64_t count = 0;
  T last{};  // the element of the last key
  for (int64_t i = 0; i < n; ++i) {
    const T value = x(i);
    // Later ones of equal elements come after; NaN compares as false.
    if (count == k && (ascending ? value >= last : value <= last)) continue;
    const SortKey<T> key = sort_key(value, i, ascending);
    if (count == k && keys[k - 1] < key) continue;
    int64_t place = count < k ? count++ : k - 1;
    for (; place > 0 && key < keys[place - 1]; --place) keys[place] = keys[place - 1];
    keys[place] = key;
    last = x(place_of(keys[count - 1]));
  }
}

inline uint64_t rank_in(uint64_t key) {
  return key >> 32;
}
inline uint64_t rank_in(const WideKey& key) {
  return key.rank;
}

// The number of keys from which sorting them by bytes is faster.
inline constexpr int64_t kManyKeys = 1024;

// Sorts n keys that are in the order of their places. A pass for each byte of the ranks, except for
// bytes that are the same in all; `room` is for n keys.
template <typename Key>
void sort_by_bytes(Key* keys, Key* room, int64_t n) {
  constexpr size_t kBytes = sizeof(Key) / 2, kValues = 256;
  int64_t places[kBytes][kValues] = {};
  const auto value = [](const Key& key, size_t byte) {
    return static_cast<size_t>(rank_in(key) >> (8 * byte)) % kValues;
  };
  for (int64_t i = 0; i < n; ++i) {
    for (size_t byte = 0; byte < kBytes; ++byte) ++places[byte][value(keys[i], byte)];
  }
  Key *from = keys, *to = room;
  for (size_t byte = 0; byte < kBytes; ++byte) {
    if (places[byte][value(keys[0], byte)] == n) continue;
    int64_t next = 0;
    for (int64_t& place : places[byte]) place = std::exchange(next, next + place);
    for (int64_t i = 0; i < n; ++i) to[places[byte][value(from[i], byte)]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy_n(from, n, keys);
}

// The number of keys that smallest_keys() needs room for; not less for larger n or k.
inline int64_t num_sort_keys(int64_t n, int64_t k) {
  return k <= kFewKeys ? k : std::max(n, 2 * std::min(n, k));
}

// Writes the k smallest keys of a row in order.
template <typename T>
void smallest_keys(const T* x, int64_t n, int64_t k, bool ascending, SortKey<T>* keys) {
  if (k <= kFewKeys) {
    return few_smallest_keys<T>([x](int64_t i) { return x[i]; }, n, k, ascending, keys);
  }
  for (int64_t i = 0; i < n; ++i) keys[i] = sort_key(x[i], i, ascending);
  if (k == n && n >= kManyKeys) return sort_by_bytes(keys, keys + n, n);
  if (k < n) std::nth_element(keys, keys + k, keys + n);
  std::sort(keys, keys + k);
}

// Writes keys with all places of a row, the one of element `kth` of its order in its place, after
// those of all smaller elements.
template <typename T>
void partition_keys(const T* x, int64_t n, int64_t kth, SortKey<T>* keys) {
  using Key = SortKey<T>;
  const int64_t few = n - kth;
  if (few > kFewKeys) {
    for (int64_t i = 0; i < n; ++i) keys[i] = sort_key(x[i], i, true);
    return std::nth_element(keys, keys + kth, keys + n);
  }
  const auto key_at = [](uint32_t place) {
    if constexpr (sizeof(T) == 4) {
      return Key{place};
    } else {
      return Key{0, place};
    }
  };
  Key largest[kFewKeys] = {};
  uint32_t places[kFewKeys];
  // From the end, so that later ones of equal elements count as larger.
  few_smallest_keys<T>([&](int64_t i) { return x[n - 1 - i]; }, n, few, false, largest);
  for (int64_t i = 0; i < few; ++i) {
    places[i] = static_cast<uint32_t>(n - 1) - place_of(largest[i]);
    keys[n - 1 - i] = key_at(places[i]);
  }
  std::sort(places, places + few);
  uint32_t next = 0;
  for (int64_t i = 0; i <= few; ++i) {
    const uint32_t end = i < few ? places[i] : static_cast<uint32_t>(n);
    for (; next < end; ++next) *keys++ = key_at(next);
    ++next;
  }
}

}  // namespace pippin::engine
