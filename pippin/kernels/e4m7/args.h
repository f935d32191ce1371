// The arguments of e4m7.h, and the kernels of kernels.inc as functions. Included by files that are
// compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// A row is ceil(k / kE4M7Group) groups of kE4M7GroupBytes; columns beyond k are zeros. A group
// stores the low bytes of its first 64 positions, then those of the others, then all high halves:
// byte i holds those of positions i (low 4 bits) and 64 + i. Position 16 l + 8 h + 2 j + o is
// column 16 (2 h + o) + 4 l + j: unpacked within 128 bits, even and odd halves of words are columns
// in order.
constexpr int64_t kE4M7Group = 128;
constexpr int64_t kE4M7GroupBytes = 192;

// A weight that the codes cannot represent; its code is 0.
struct E4M7Exception {
  uint32_t column;
  float value;
};

struct E4M7Matrix {
  int64_t n, k;
  const uint8_t* codes;
  int64_t row_bytes;
  const float* scales;     // [n]: powers of two
  const uint32_t* begins;  // [n + 1]: each row's first exception
  const E4M7Exception* exceptions;
};

// A few rows of x in the kernels' form: each row is multiplied by a power of two, so that products
// with codes, which are tiny, are not tiny. After its k numbers, zeros up to a whole group.
constexpr int64_t kMostLiftedRows = 16;
struct E4M7Lifted {
  float* rows;
  int64_t stride;
  float back[kMostLiftedRows];  // factor for a row's sums at the end
};

// Strides are between rows, in elements. Computes the columns [n_begin, n_end) of y; bias and y
// point to column 0.
struct E4M7Args {
  const E4M7Matrix* w;
  const float* x;
  int64_t x_stride;
  const float* bias;  // or null
  float* y;
  int64_t y_stride;
  int64_t m, n_begin, n_end;
  const E4M7Lifted* lifted;  // of x, if m is at most the kernel's lifted_rows
};

struct E4M7Kernels {
  const char* name;  // "e4m7_avx512"
  // If m is at most this, `dot` reads args.lifted, otherwise args.x.
  int64_t lifted_rows;
  // Fills rows and back from m rows of x, k numbers each; strides between rows.
  void (*lift)(const float* x, int64_t x_stride, int64_t m, int64_t k, E4M7Lifted& lifted) noexcept;
  void (*dot)(const E4M7Args& args) noexcept;
};

#define PIPPIN_E4M7(flag, name) extern const E4M7Kernels name;
#include "pippin/kernels/e4m7/kernels.inc"
#undef PIPPIN_E4M7

// y += x · exceptions: the last step of every kernel.
void add_e4m7_exceptions(const E4M7Args& args) noexcept;

}  // namespace pippin::kernels
