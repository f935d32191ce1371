// The reference: one sum after another, in double.
#include <bit>

#include "pippin/kernels/e4m7/e4m7.h"

namespace pippin::kernels {
namespace {

double weight(const E4M7Matrix& w, int64_t row, int64_t column) {
  const uint8_t* group = w.codes + row * w.row_bytes + column / kE4M7Group * kE4M7GroupBytes;
  const int64_t at = column % kE4M7Group, half = at / 64, c = at % 64;
  const int64_t place = 16 * (c % 16 / 4) + 8 * (c / 32) + 2 * (c % 4) + c / 16 % 2;
  const uint32_t high = static_cast<uint32_t>(group[128 + place]) >> (4 * half) & 15;
  const uint32_t low = group[64 * half + place];
  const uint32_t bits = (high & 8) << 28 | (high & 7) << 24 | low << 16;
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
