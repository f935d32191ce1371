// y = x · Wᵀ + bias straight from compressed weights: int4, uint4, int8 and uint8 with scales per
// block, row or matrix, and palettes of 1 to 8 bits. W is read where it lies in the mapped package,
// in Core ML's own layout: nothing is repacked, so loading costs nothing and there is one copy.
//
// Two precisions:
// - exact: rows of W are expanded to fp32 (expand) a tile at a time and meet dot/'s fp32 kernels.
//   The products are those of the values that the package means, unrounded.
// - fast: activations are rounded to 8 bits, to the nearest of 255 levels between -a and a, where a
//   is the largest magnitude among `unit` columns (32, or 16 where W's blocks have 16); palettes
//   are rounded to 16 bits with a scale of their own (8 would double the error of the activations).
//   Products and their sums within a unit are exact integers; units are scaled and added in fp32. A
//   unit that holds an infinity or NaN counts as NaN.
//
// Promise: y[i, j] has the same bits for every split of n over threads, and for every m: what the
// other rows are, and how many, does not matter. Kernels differ from each other in the rounding of
// sums.
#pragma once

#include <cstddef>
#include <vector>

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/quantized_dot/args.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<QuantizedDotKernels>> quantized_dot_kernels();
// The first table that `cpu` can run.
const QuantizedDotKernels& choose_quantized_dot(const CpuFeatures& cpu);

// One of a matrix's scales, or of the entries of its palettes.
float stored_number(const void* numbers, WeightType type, int64_t index);

// Whether the fast dot takes the matrix: k is a multiple of 32; blocks have one row of scales per
// row of W, a multiple of 32 columns or 16; palettes go with whole rows and have their byte form.
bool can_dot(const QuantizedMatrix& w);

// Palettes rounded to 16 bits and cut into bytes: value ~ (256 * high + low - 32768) * scale. The
// high bytes of a palette lie at a multiple of 2 * byte_palette_stride(bits), the low ones
// byte_palette_stride(bits) behind them, so that kernels may read whole registers. Entries repeat
// up to there, so that bits above those of a code do not matter.
struct BytePalettes {
  std::vector<uint8_t> bytes;
  std::vector<float> scales;
};
constexpr int64_t byte_palette_stride(int bits) {
  return bits <= 4 ? 16 : bits <= 6 ? 64 : 256;
}
BytePalettes make_byte_palettes(const void* palettes, WeightType type, int bits, int64_t count);

// The form of x that `kernels.dot` wants for this matrix and m rows, and the bytes that it takes.
QuantizedRows quantized_form(const QuantizedDotKernels& kernels, const QuantizedMatrix& w,
                             int64_t m);
// Whether rows of the one form, m being the same, may stand for rows of the other.
bool same_form(const QuantizedRows& a, const QuantizedRows& b);
int64_t quantized_bytes(const QuantizedRows& form);
// Sets the form's pointers; `memory` is aligned to 64 and has quantized_bytes().
void place_quantized(QuantizedRows& form, void* memory);

// For each thread that runs `dot`.
int64_t quantized_dot_scratch_bytes();

// Split n over threads in multiples of this.
constexpr int64_t kQuantizedDotGrain = 32;

}  // namespace pippin::kernels
