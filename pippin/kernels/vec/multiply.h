// Products of rows, the core of dot/ and attention/, over the vectors of one instruction set, which
// the includer chooses by including avx512.h, avx2.h or neon.h first.
#pragma once

namespace pippin::kernels {
namespace {

// With 4 columns: 24 of 32, or 12 of 16 registers hold sums.
constexpr int kRowTile = kManyRegisters ? 6 : 3;

// The storage formats of weights and caches, converted to fp32 when loaded into a register.
struct StoredF32 {
  using Element = float;
  static PIPPIN_VEC F load(const float* p) { return kernels::load(p); }
  static PIPPIN_VEC F load_part(const float* p, int64_t n) { return kernels::load_part(p, n); }
};
struct StoredF16 {
  using Element = uint16_t;
  static PIPPIN_VEC F load(const uint16_t* p) { return load_f16(p); }
  static PIPPIN_VEC F load_part(const uint16_t* p, int64_t n) { return load_part_f16(p, n); }
};
struct StoredBF16 {
  using Element = uint16_t;
  static PIPPIN_VEC F load(const uint16_t* p) { return load_bf16(p); }
  static PIPPIN_VEC F load_part(const uint16_t* p, int64_t n) { return load_part_bf16(p, n); }
};

// Data to prefetch meanwhile: for every 8 elements multiplied, `bytes_of_8` / 2^shift bytes of each
// column. With rows of a few kilobytes the hardware's own prefetch, which stops at page boundaries,
// would always be late.
struct Prefetch {
  const void* begin = nullptr;  // start of the first column; null: nothing
  int64_t column_bytes = 0;     // between columns
  int64_t bytes_of_8 = 0;
  int shift = 0;

  PIPPIN_VEC int64_t bytes_of(int64_t elements) const {
    return (elements * bytes_of_8) >> (3 + shift);
  }
};

// sums[r][g] = the products of row r with columns 4g..4g+3 over one block of k.
template <typename Stored, int kRows, int kColumns>
PIPPIN_VEC void multiply(const float* x, int64_t x_stride,
                         const typename Stored::Element* const (&w)[kColumns], int64_t k,
                         Prefetch prefetch, F4 (&sums)[kRows][kColumns / 4]) {
  F total[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) total[r][c] = set(0);
  }
  int64_t i = 0;
  const auto fetch = [&](int c) __attribute__((always_inline)) {
    if (prefetch.begin == nullptr) return;
    __builtin_prefetch(static_cast<const char*>(prefetch.begin) + c * prefetch.column_bytes +
                       prefetch.bytes_of(i));
  };
  for (; i + kLanes <= k; i += kLanes) {
    // The smaller side stays in registers: 3 of it and one of the other side fit next to 12 sums.
    if constexpr (kRows < kColumns) {
      F activations[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) activations[r] = load(x + r * x_stride + i);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const F weights = Stored::load(w[c] + i);
        fetch(c);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) total[r][c] = fma(activations[r], weights, total[r][c]);
      }
    } else {
      F weights[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        weights[c] = Stored::load(w[c] + i);
        fetch(c);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const F activation = load(x + r * x_stride + i);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) total[r][c] = fma(activation, weights[c], total[r][c]);
      }
    }
  }
  if (i < k) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const F weights = Stored::load_part(w[c] + i, k - i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        total[r][c] = fma(load_part(x + r * x_stride + i, k - i), weights, total[r][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int g = 0; g < kColumns / 4; ++g) {
      sums[r][g] =
          sum4(total[r][4 * g], total[r][4 * g + 1], total[r][4 * g + 2], total[r][4 * g + 3]);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
