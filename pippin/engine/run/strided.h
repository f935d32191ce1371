// Loops over operands of one shape with different strides: adjacent dimensions merge if all
// operands allow it, the innermost is passed to the body as a whole, and large loops are split over
// threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "pippin/engine/run/step.h"

namespace pippin::engine {

template <size_t N>
struct StridedLoop {
  int64_t outer_count = 1;
  int64_t inner_count = 1;
  std::array<int64_t, N> inner_strides{};

  // All operands have the shape of the first.
  explicit StridedLoop(const std::array<Operand, N>& operands) {
    const Operand& first = operands[0];
    for (size_t k = 0; k < N; ++k) {
      data_[k] = operands[k].data;
      size_[k] = element_size(operands[k].storage);
    }
    for (int i = 0; i < first.rank; ++i) {
      if (first.shape[i] == 1) continue;
      bool merges = rank_ > 0;
      for (size_t k = 0; k < N && merges; ++k) {
        merges = strides_[k][rank_ - 1] == operands[k].strides[i] * first.shape[i];
      }
      if (!merges) ++rank_;
      shape_[rank_ - 1] = (merges ? shape_[rank_ - 1] : 1) * first.shape[i];
      for (size_t k = 0; k < N; ++k) strides_[k][rank_ - 1] = operands[k].strides[i];
    }
    if (rank_ > 0) {
      --rank_;
      inner_count = shape_[rank_];
      for (size_t k = 0; k < N; ++k) inner_strides[k] = strides_[k][rank_];
    }
    for (int i = 0; i < rank_; ++i) outer_count *= shape_[i];
  }

  // Calls body(std::array<std::byte*, N> pointers, int64_t count) for the rows [begin, end).
  template <typename Body>
  void run(int64_t begin, int64_t end, Body&& body) const {
    for (int64_t row = begin; row < end; ++row) body(row_pointers(row), inner_count);
  }

  // The same over all rows, on the pool if there is enough work: an element of the loop stands for
  // `work` elements.
  template <typename Body>
  void run_parallel(ThreadPool& pool, Body&& body, int64_t work = 1) const {
    constexpr int64_t kWorthSharing = int64_t{1} << 15;  // elements
    if (outer_count * inner_count * work < kWorthSharing || pool.num_threads() == 1) {
      run(0, outer_count, body);
    } else if (outer_count >= pool.num_threads()) {
      pool.run([&](int part, int parts) {
        const Range rows = split_range(outer_count, part, parts);
        run(rows.begin, rows.end, body);
      });
    } else {
      pool.run([&](int part, int parts) {
        const Range columns = split_range(inner_count, part, parts, work == 1 ? 64 : 1);
        if (columns.begin >= columns.end) return;
        for (int64_t row = 0; row < outer_count; ++row) {
          auto pointers = row_pointers(row);
          for (size_t k = 0; k < N; ++k) pointers[k] += columns.begin * inner_strides[k] * size_[k];
          body(pointers, columns.end - columns.begin);
        }
      });
    }
  }

 private:
  std::array<std::byte*, N> row_pointers(int64_t row) const {
    auto pointers = data_;
    for (int i = rank_; i-- > 0;) {
      const int64_t index = row % shape_[i];
      row /= shape_[i];
      for (size_t k = 0; k < N; ++k) pointers[k] += index * strides_[k][i] * size_[k];
    }
    return pointers;
  }

  int rank_ = 0;
  std::array<std::byte*, N> data_{};
  std::array<int64_t, N> size_{};
  int64_t shape_[kMaxRank + 1] = {};
  int64_t strides_[N][kMaxRank + 1] = {};
};

}  // namespace pippin::engine
