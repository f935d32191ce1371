// Runs the kernels of kernels/rows/ on rows of views.
#pragma once

#include "pippin/engine/run/step.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::engine {

// Runs call(args) on ranges of the rows. views: y [m, n] or [m], x [m, n].
template <typename Call>
void run_row_shares(const StepContext& context, const Call& call) {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  const int64_t m = x.shape[0], n = x.shape[1];
  const auto share = [&](int64_t begin, int64_t end) {
    if (begin >= end) return;
    call(kernels::RowsArgs{x.floats() + begin * x.strides[0], x.strides[0],
                           y.floats() + begin * y.strides[0], y.strides[0], end - begin, n});
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 15;
  if (m * n < kWorthSharing || m == 1) {
    share(0, m);
  } else {
    context.pool.run([&](int part, int parts) {
      const Range rows = split_range(m, part, parts);
      share(rows.begin, rows.end);
    });
  }
}

}  // namespace pippin::engine
