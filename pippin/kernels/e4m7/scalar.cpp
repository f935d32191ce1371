// The reference: one sum after another, in double.
#include <bit>

#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::kernels {
namespace {

double weight(const E4M7Matrix& w, int64_t row, int64_t column) {
  const uint32_t code = e4m7_code(w, row, column);
  const uint32_t bits = (code & 0x800) << 20 | (code & 0x7ff) << 16;
  return double{std::bit_cast<float>(bits)} * double{w.scales[row]};
}

void no_lift(const float*, int64_t, int64_t, int64_t, E4M7Lifted&) noexcept {}

void dot_e4m7(const E4M7Args& a) noexcept {
  for (int64_t i = 0; i < a.m; ++i) {
    const float* x = a.x + i * a.x_stride;
    for (int64_t j = a.n_begin; j < a.n_end; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < a.w->k; ++l) sum += double{x[l]} * weight(*a.w, j, l);
      if (a.bias != nullptr) sum += double{a.bias[j]};
      a.y[i * a.y_stride + j] = static_cast<float>(sum);
    }
  }
  add_e4m7_exceptions(a);
}

}  // namespace

const E4M7Kernels e4m7_scalar = {"e4m7_scalar", 0, no_lift, dot_e4m7};

}  // namespace pippin::kernels
