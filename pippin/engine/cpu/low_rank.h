// Changes of low rank that a WeightStep adds to its products: y += (s * (x · Aᵀ)) · Bᵀ.
//
// They need no barrier of their own. Threads that begin the step first compute parts of x · Aᵀ
// until none is left; then each computes its columns of the products and adds B's part to them
// while they are in the cache. By then the other threads' parts of x · Aᵀ are done, or nearly so.
//
// Ranks whose s is 0 for all rows, those of adapters that no row uses, are not read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/low_rank/low_rank.h"

namespace pippin::engine {

// The changes of a step's products.
class LowRankChanges {
 public:
  static constexpr size_t kViews = 3;  // of a change: A, s, B

  explicit LowRankChanges(const CpuFeatures& cpu) : kernels_(kernels::choose_low_rank(cpu)) {}
  struct Place {
    size_t product;
    size_t operand;  // the first of its views
    int64_t n;
  };
  void add(const CpuFeatures& cpu, const Place& place, const LowRank& change);

  bool empty() const { return changes_.empty(); }
  int64_t weight_bytes(int64_t k) const;  // of x with that many columns
  // Memory of a run with that many rows.
  int64_t scratch_bytes(int64_t rows) const;

 private:
  friend class LowRankRun;
  struct Change {
    Place place;
    int64_t ranks;
    int64_t first;  // the column of x · Aᵀ of all changes
    const kernels::DotKernel* a;
    kernels::WeightType b;
  };
  const kernels::LowRankKernels& kernels_;
  std::vector<Change> changes_;
  int64_t ranks_ = 0;  // of all
};

// One run. All threads may call its functions.
class LowRankRun {
 public:
  // Uses the first scratch_bytes() of the context's scratch memory.
  LowRankRun(const LowRankChanges& changes, const StepContext& context, const Operand& x);

  // Computes parts of x · Aᵀ until all have been begun. A thread calls it before add().
  void compute() noexcept;
  // Adds the change of a product, if it has one, to a part of it. Waits for parts that other
  // threads have begun.
  void add(size_t product, const Operand& y, Range rows, Range columns) noexcept;

 private:
  using Change = LowRankChanges::Change;
  // Finds the ranks that some row uses; returns their number.
  int64_t find_active(const Change& change) const;
  // Elements [begin, end) of the active ranks of a change, for some rows.
  void compute(const Change& change, Range rows, Range active) const noexcept;
  const Operand& operand(const Change& change, size_t view) const {
    return context_.operands[change.place.operand + view];
  }
  int32_t* active_of(const Change& change) const { return active_ + change.first; }

  const LowRankChanges& changes_;
  const StepContext& context_;
  const Operand& x_;
  float* t_;         // s * (x · Aᵀ) [rows, ranks of all changes]
  int32_t* active_;  // by change, from its first rank on: the ranks that some row uses, ascending
  int64_t* counts_;  // of them, by change
  int64_t chunk_ = 1, parts_ = 0;  // a part: some rows and `chunk_` active ranks of a change
  alignas(64) std::atomic<int64_t> begun_{0};
  alignas(64) std::atomic<int64_t> done_{0};
};

}  // namespace pippin::engine
