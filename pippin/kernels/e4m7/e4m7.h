// y = x · Wᵀ + bias where W are halves that fit into 12 bits, without loss: the weights of fp16
// packages that were made of bf16 checkpoints, as nearly all are.
//
// A bf16 number has 8 significant bits, and stays one of 8 bits when it becomes fp16; of the five
// bits of exponent four are enough for nearly all weights of a row. So a weight is a sign, 4 bits
// of exponent and 7 of mantissa, with subnormals, times a power of two of its row; what is left
// over (outliers) is kept beside, as it is. Such a matrix takes three quarters of the memory, and
// decoding, which reads all weights for a token, as much less time.
//
//   code = s eeee mmmmmmm is the fp32 number whose bits are s 0000eeee mmmmmmm 0..., which is tiny
//   (or a subnormal, so processors must not flush those), and the weight is that times scales[row]:
//   both are exact.
//
// Promise: y[i, j] has the same bits for every m and every split of n over threads. Without
// exceptions they are those of dot/'s kernel of the same instruction set on the fp16 matrix. (But
// numbers of a row of x that are 2^50 times smaller than its largest may count as less, and an
// infinity that meets an exception gives NaN.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/e4m7/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<E4M7Kernels>> e4m7_kernels();
// The first table that `cpu` can run.
const E4M7Kernels& choose_e4m7(const CpuFeatures& cpu);

// Floats of a row of E4M7Lifted.
constexpr int64_t e4m7_lifted_stride(int64_t k) {
  return (k + kE4M7Group - 1) / kE4M7Group * kE4M7Group;
}

// Split n over threads in multiples of this.
constexpr int64_t kE4M7Grain = 16;

// The most exceptions that a matrix may have: one in 256 weights. With more it is better off as it
// is.
int64_t most_e4m7_exceptions(int64_t n, int64_t k);
// Of a row's codes.
int64_t e4m7_row_bytes(int64_t k);
// Of the packed matrix: codes, scales, begins, exceptions up to the most.
int64_t e4m7_bytes(int64_t n, int64_t k);

// One row of k weights (F16 or BF16) as codes of e4m7 in `out`, a row's bytes; its scale; and how
// many exceptions it has, of which the first `room` are written.
struct E4M7Row {
  float scale;
  int64_t num_exceptions;
};
E4M7Row pack_e4m7_row(WeightType type, const std::byte* weights, int64_t k, uint8_t* out,
                      E4M7Exception* exceptions, int64_t room);

// The parts of `bytes`, which are e4m7_bytes(n, k) and aligned to 4.
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
