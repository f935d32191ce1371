// Products with computed matrices: for steps, and for arrays, whose matrices lie at any offsets.
#pragma once

#include <cstdint>

#include "pippin/base/cpu_features.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/nodes/view.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {

class ComputedDot {
 public:
  static constexpr int64_t kNever = INT64_MAX;  // for many_rows

  // `storage` is that of the matrices. From `many_rows` rows on, the matrix is repacked, which is
  // faster, but gives a row other sums than fewer rows do.
  ComputedDot(Storage storage, const CpuFeatures& cpu, int64_t many_rows);

  const kernels::DotKernel& kernel() const { return kernel_; }
  // The floats of scratch memory of a thread for a product, or for all of up to m rows.
  int64_t scratch_floats(int64_t m, int64_t n, int64_t k) const;
  int64_t most_scratch_floats(int64_t m) const;

  // Computes the product on this thread.
  void run(const kernels::DotArgs& args, float* scratch) const {
    if (!repacks(args.m, args.k)) return kernel_.function(args);
    kernels::dot_many_rows(kernel_, args, scratch, [](Range, Range) {});
  }
  // The same on all threads; each has `floats` of the scratch memory.
  void run(ThreadPool& pool, const kernels::DotArgs& args, float* scratch, int64_t floats) const;

 private:
  bool repacks(int64_t m, int64_t k) const {
    return m >= many_rows_ && kernels::packed_floats(kernel_, 1, k) <= kernels::kMostPacked;
  }

  const kernels::DotKernel& kernel_;
  int64_t many_rows_;
};

}  // namespace pippin::engine
