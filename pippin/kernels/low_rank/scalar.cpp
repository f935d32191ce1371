// The reference: the formula, with sums in double.
#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/low_rank/args.h"

namespace pippin::kernels {
namespace {

float to_float(float value) {
  return value;
}
using pippin::to_float;

template <typename Weight>
void add_scalar(const LowRankArgs& a) noexcept {
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = a.begin; j < a.end; ++j) {
      const int64_t lane = j % kLowRankColumns;
      const Weight* panel = static_cast<const Weight*>(a.b) + (j - lane) * a.all_ranks;
      double sum = 0;
      for (int64_t k = 0; k < a.count; ++k) {
        const int64_t r = a.ranks[k];
        sum +=
            double{a.t[i * a.t_stride + r]} * double{to_float(panel[r * kLowRankColumns + lane])};
      }
      a.y[i * a.y_stride + j] += static_cast<float>(sum);
    }
  }
}

}  // namespace

const LowRankKernels low_rank_scalar = {"low_rank_scalar", add_scalar<float>, add_scalar<float16>,
                                        add_scalar<bfloat16>};

}  // namespace pippin::kernels
