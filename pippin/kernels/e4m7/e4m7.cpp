#include "pippin/kernels/e4m7/e4m7.h"

#include "pippin/base/numbers/checked.h"

namespace pippin::kernels {
namespace {

constexpr Listed<E4M7Kernels> kKernels[] = {
#define PIPPIN_E4M7(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/e4m7/kernels.inc"
#undef PIPPIN_E4M7
};

// Offsets in bytes.
struct Layout {
  int64_t row_bytes, scales, begins, exceptions, end;
};
Layout layout(int64_t n, int64_t k) {
  Layout result{};
  result.row_bytes = e4m7_row_bytes(k);
  result.scales = n * result.row_bytes;
  result.begins = result.scales + n * static_cast<int64_t>(sizeof(float));
  result.exceptions = result.begins + (n + 1) * static_cast<int64_t>(sizeof(uint32_t));
  result.end =
      result.exceptions + most_e4m7_exceptions(n, k) * static_cast<int64_t>(sizeof(E4M7Exception));
  return result;
}

}  // namespace

std::span<const Listed<E4M7Kernels>> e4m7_kernels() {
  return kKernels;
}

const E4M7Kernels& choose_e4m7(const CpuFeatures& cpu) {
  return choose("e4m7", e4m7_kernels(), cpu);
}

int64_t most_e4m7_exceptions(int64_t n, int64_t k) {
  return n * k / 256;
}

int64_t e4m7_row_bytes(int64_t k) {
  return ceil_div(k, kE4M7Group) * kE4M7GroupBytes;
}

int64_t e4m7_bytes(int64_t n, int64_t k) {
  return layout(n, k).end;
}

E4M7Parts e4m7_parts(std::byte* bytes, int64_t n, int64_t k) {
  const Layout at = layout(n, k);
  return {reinterpret_cast<uint8_t*>(bytes), at.row_bytes,
          reinterpret_cast<float*>(bytes + at.scales),
          reinterpret_cast<uint32_t*>(bytes + at.begins),
          reinterpret_cast<E4M7Exception*>(bytes + at.exceptions)};
}

E4M7Matrix e4m7_matrix(const std::byte* bytes, int64_t n, int64_t k) {
  const Layout at = layout(n, k);
  return {n,
          k,
          reinterpret_cast<const uint8_t*>(bytes),
          at.row_bytes,
          reinterpret_cast<const float*>(bytes + at.scales),
          reinterpret_cast<const uint32_t*>(bytes + at.begins),
          reinterpret_cast<const E4M7Exception*>(bytes + at.exceptions)};
}

uint32_t e4m7_code(const E4M7Matrix& w, int64_t row, int64_t column) {
  const uint8_t* group = w.codes + row * w.row_bytes + column / kE4M7Group * kE4M7GroupBytes;
  const int64_t half = column % kE4M7Group / 64, c = column % 64;
  const int64_t place = 16 * (c % 16 / 4) + 8 * (c / 32) + 2 * (c % 4) + c / 16 % 2;
  const uint32_t high = static_cast<uint32_t>(group[128 + place]) >> (4 * half) & 15;
  return high << 8 | group[64 * half + place];
}

void add_e4m7_exceptions(const E4M7Args& a) noexcept {
  const E4M7Matrix& w = *a.w;
  if (w.begins[a.n_begin] == w.begins[a.n_end]) return;
  for (int64_t i = 0; i < a.m; ++i) {
    const float* x = a.x + i * a.x_stride;
    float* y = a.y + i * a.y_stride;
    for (int64_t j = a.n_begin; j < a.n_end; ++j) {
      for (uint32_t e = w.begins[j]; e < w.begins[j + 1]; ++e) {
        y[j] += x[w.exceptions[e].column] * w.exceptions[e].value;
      }
    }
  }
}

}  // namespace pippin::kernels
