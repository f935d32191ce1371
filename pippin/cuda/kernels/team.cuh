// The threads that share a row: a warp or a block. Which one depends on the length of rows alone,
// and so does the order of sums.
#pragma once

#include "pippin/cuda/kernels/axes.cuh"
#include "pippin/cuda/kernels/rows_args.h"

namespace pippin::cuda {

// Of a team's exchanges with `shared`, in doubles: each of up to three in a kernel has its own.
constexpr int kTeamSlots = 3;

struct Team {
  int64_t row;
  int index, size;  // the thread's, among so many
  unsigned char* shared;

  DEVICE Team(const RowsArgs& rows, unsigned char* block_shared) : shared(block_shared) {
    if (rows.by_warps) {
      row = static_cast<int64_t>(blockIdx.x) * (block_threads() / 32) + warp_index();
      index = lane_index();
      size = 32;
    } else {
      row = blockIdx.x;
      index = thread_index();
      size = block_threads();
    }
  }
  DEVICE bool has_row(const RowsArgs& rows) const { return row < rows.rows; }

  // combine(a, b) of all threads' values, in all threads.
  template <typename T, typename Combine>
  DEVICE T combined(T v, int slot, const Combine& combine) const {
    for (int mask = 16; mask > 0; mask >>= 1) v = combine(v, across_lanes(v, mask));
    if (size == 32) return v;
    T* values = reinterpret_cast<T*>(shared + slot * 32 * sizeof(double));
    if (lane_index() == 0) values[warp_index()] = v;
    barrier();
    T all = values[0];
    for (int i = 1; i < size / 32; ++i) all = combine(all, values[i]);
    return all;
  }
  template <typename T>
  DEVICE T sum(T v, int slot) const {
    return combined(v, slot, [](T a, T b) { return a + b; });
  }
};

// Elements [i, i + 4) of a row of n; zeros behind its end.
DEVICE Four<float> load_group(const float* row, int64_t i, int64_t n, bool vectors) {
  if (vectors && i + 4 <= n) return *reinterpret_cast<const Four<float>*>(row + i);
  Four<float> x;
  for (int k = 0; k < 4; ++k) x.v[k] = i + k < n ? row[i + k] : 0.0f;
  return x;
}
DEVICE void store_group(float* row, int64_t i, int64_t n, bool vectors, const Four<float>& x) {
  if (vectors && i + 4 <= n) {
    *reinterpret_cast<Four<float>*>(row + i) = x;
    return;
  }
  for (int k = 0; k < 4; ++k) {
    if (i + k < n) row[i + k] = x.v[k];
  }
}

// The groups of a row that are the thread's, the first kHeld of them in registers.
class RowGroups {
 public:
  static constexpr int kHeld = 2;

  DEVICE RowGroups(const Team& team, const RowsArgs& rows, const float* x)
      : x_(x),
        n_(rows.columns),
        first_(4 * team.index),
        step_(4 * team.size),
        vectors_(rows.vectors) {
    for (int k = 0; k < kHeld; ++k) held_[k] = load_group(x_, first_ + k * step_, n_, vectors_);
  }
  // Calls visit(x, i, count) with the elements [i, i + count).
  template <typename Visit>
  DEVICE void each(const Visit& visit) const {
    for (int k = 0; k < kHeld; ++k) {
      const int64_t i = first_ + k * step_;
      if (i < n_) visit(held_[k], i, count_at(i));
    }
    for (int64_t i = first_ + kHeld * step_; i < n_; i += step_) {
      visit(load_group(x_, i, n_, vectors_), i, count_at(i));
    }
  }

 private:
  DEVICE int count_at(int64_t i) const { return n_ - i < 4 ? static_cast<int>(n_ - i) : 4; }

  const float* x_;
  int64_t n_;
  int first_, step_;
  bool vectors_;
  Four<float> held_[kHeld];
};

}  // namespace pippin::cuda
