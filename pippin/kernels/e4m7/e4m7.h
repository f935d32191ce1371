// y = x · Wᵀ + bias where W holds fp16 numbers that fit into 12 bits without loss: the weights of
// nearly all fp16 packages converted from bf16 checkpoints.
//
// A bf16 number has 8 significant bits and keeps them in fp16; four of the five exponent bits are
// enough for nearly all weights of a row. So a weight is a sign, 4 bits of exponent and 7 of
// mantissa, with subnormals, times a power of two per row; the rest (outliers) is stored
// separately, unchanged. Such a matrix takes three quarters of the memory. Decoding, which reads
// all weights for every token, takes correspondingly less time.
//
//   code = s eeee mmmmmmm is the fp32 number whose bits are s 0000eeee mmmmmmm 0..., which is tiny
//   (or a subnormal, so processors must not flush those), and the weight is that times scales[row]:
//   both are exact.
//
// Promise: y[i, j] has the same bits for every m and every split of n over threads. Without
// exceptions they equal those of dot/'s kernel for the same instruction set on the fp16 matrix.
// (But numbers in a row of x that are 2^50 times smaller than its largest may lose precision, and
// an infinity times an exception gives NaN.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/e4m7/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<E4M7Kernels>> e4m7_kernels();
// Returns the first table that `cpu` can run.
const E4M7Kernels& choose_e4m7(const CpuFeatures& cpu);

// The number of floats in a row of E4M7Lifted.
constexpr int64_t e4m7_lifted_stride(int64_t k) {
  return (k + kE4M7Group - 1) / kE4M7Group * kE4M7Group;
}

// Split n over threads in multiples of this.
constexpr int64_t kE4M7Grain = 16;

// The maximum number of exceptions in a matrix: one in 256 weights. Beyond that, packing does not
// pay.
int64_t most_e4m7_exceptions(int64_t n, int64_t k);
// The size of a row's codes.
int64_t e4m7_row_bytes(int64_t k);
// The size of the packed matrix: codes, scales, begins, and the maximum number of exceptions.
int64_t e4m7_bytes(int64_t n, int64_t k);

// The code of a weight: s eeee mmmmmmm.
uint32_t e4m7_code(const E4M7Matrix& w, int64_t row, int64_t column);

// The result of packing a row of k weights (F16 or BF16): its codes are in `out`; its scale; and
// its number of exceptions, of which the first `room` are written.
struct E4M7Row {
  float scale;
  int64_t num_exceptions;
};
E4M7Row pack_e4m7_row(WeightType type, const std::byte* weights, int64_t k, uint8_t* out,
                      E4M7Exception* exceptions, int64_t room);

// Splits `bytes`, which are e4m7_bytes(n, k) and aligned to 4, into their parts.
struct E4M7Parts {
  uint8_t* codes;
  int64_t row_bytes;
  float* scales;
  uint32_t* begins;
  E4M7Exception* exceptions;
};
E4M7Parts e4m7_parts(std::byte* bytes, int64_t n, int64_t k);
E4M7Matrix e4m7_matrix(const std::byte* bytes, int64_t n, int64_t k);

}  // namespace pippin::kernels
