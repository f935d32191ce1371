// Loops over several arrays of one shape, in index order.
//
// Axes that are contiguous in all operands are merged, so that a few long runs remain, or a single
// one for contiguous arrays.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/shape.h"

namespace pippin::mx {

template <size_t N>
class Nest {
 public:
  using Offsets = std::array<int64_t, N>;  // in elements, relative to each operand's start

  Nest(const Shape& shape, const std::array<const Strides*, N>& strides) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t size = shape[axis];
      if (size == 1) continue;
      is_empty_ = is_empty_ || size == 0;
      if (!sizes_.empty() && merges(strides, axis, size)) {
        sizes_.back() *= size;
        for (size_t n = 0; n < N; ++n) strides_[n].back() = (*strides[n])[axis];
      } else {
        sizes_.push_back(size);
        for (size_t n = 0; n < N; ++n) strides_[n].push_back((*strides[n])[axis]);
      }
    }
    if (sizes_.empty()) {
      sizes_.push_back(1);
      for (size_t n = 0; n < N; ++n) strides_[n].push_back(1);
    }
    run_ = is_empty_ ? 0 : sizes_.back();
    for (size_t n = 0; n < N; ++n) steps_[n] = strides_[n].back();
    runs_ = is_empty_ ? 0 : 1;
    for (size_t axis = 0; axis + 1 < sizes_.size(); ++axis) runs_ *= sizes_[axis];
  }

  int64_t runs() const { return runs_; }
  int64_t run() const { return run_; }             // elements per run
  const Offsets& steps() const { return steps_; }  // between the elements of a run

  // Calls body(offsets, count) for the runs [begin, end).
  template <typename Body>
  void each(int64_t begin, int64_t end, Body&& body) const {
    if (begin >= end) return;
    const size_t outer = sizes_.size() - 1;
    Offsets at{};
    SmallVector<int64_t, 6> index(outer, 0);
    int64_t rest = begin;
    for (size_t axis = outer; axis-- > 0;) {
      index[axis] = rest % sizes_[axis];
      rest /= sizes_[axis];
      for (size_t n = 0; n < N; ++n) at[n] += index[axis] * strides_[n][axis];
    }
    for (int64_t i = begin;;) {
      body(static_cast<const Offsets&>(at), run_);
      if (++i == end) return;
      for (size_t axis = outer; axis-- > 0;) {
        for (size_t n = 0; n < N; ++n) at[n] += strides_[n][axis];
        if (++index[axis] < sizes_[axis]) break;
        index[axis] = 0;
        for (size_t n = 0; n < N; ++n) at[n] -= sizes_[axis] * strides_[n][axis];
      }
    }
  }

  // Calls body(offsets, count) for everything, on all threads if it is large; `cost` is the work
  // per element, in additions.
  template <typename Body>
  void all(int64_t cost, const Body& body) const {
    const int64_t work = runs_ * run_ * cost;
    if (work < kParallelWork) return each(0, runs_, body);
    if (runs_ > 1) {
      return parallel(runs_, work, [&](int64_t begin, int64_t end) { each(begin, end, body); });
    }
    constexpr int64_t kGrain = 64;  // keeps threads on different cache lines
    parallel((run_ + kGrain - 1) / kGrain, work, [&](int64_t begin, int64_t end) {
      Offsets at;
      for (size_t n = 0; n < N; ++n) at[n] = begin * kGrain * steps_[n];
      body(static_cast<const Offsets&>(at), std::min(end * kGrain, run_) - begin * kGrain);
    });
  }

 private:
  bool merges(const std::array<const Strides*, N>& strides, size_t axis, int64_t size) const {
    for (size_t n = 0; n < N; ++n) {
      if (strides_[n].back() != (*strides[n])[axis] * size) return false;
    }
    return true;
  }

  SmallVector<int64_t, 6> sizes_;
  std::array<SmallVector<int64_t, 6>, N> strides_;
  Offsets steps_{};
  int64_t run_ = 1;
  int64_t runs_ = 1;
  bool is_empty_ = false;
};

}  // namespace pippin::mx
