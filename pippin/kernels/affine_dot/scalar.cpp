// The reference: every element as the formula says.
#include "pippin/base/float16.h"
#include "pippin/kernels/affine_dot/affine_dot.h"

namespace pippin::kernels {
namespace {

void dot(const AffineDotArgs& args) noexcept {
  const AffineMatrix& w = *args.w;
  const AffineRows& x = *args.x;
  for (int64_t i = 0; i < x.m; ++i) {
    const float* row = x.values + i * x.padded;
    for (int64_t j = args.n_begin; j < args.n_end; ++j) {
      float total = 0;
      float expanded[256];
      for (int64_t begin = 0; begin < w.k; begin += 256) {
        const int64_t end = begin + 256 < w.k ? begin + 256 : w.k;
        expand_affine(w, j, begin, end, expanded);
        for (int64_t c = begin; c < end; ++c) total += row[c] * expanded[c - begin];
      }
      args.y[i * args.y_stride + j] = total;
    }
  }
}

}  // namespace

const AffineDotKernels affine_dot_scalar = {"affine_dot_scalar", dot, 0};

}  // namespace pippin::kernels
