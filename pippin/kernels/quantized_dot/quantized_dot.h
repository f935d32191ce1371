// y = x · Wᵀ + bias directly from compressed weights: int4, uint4, int8 and uint8 with scales per
// block, row or matrix, and palettes of 1 to 8 bits. W is read in place in the mapped package, in
// Core ML's own layout: nothing is repacked, so loading is free and there is only one copy.
//
// Two precisions:
// - exact: rows of W are expanded to fp32 (expand) a tile at a time and passed to dot/'s fp32
//   kernels. The products use the values in the package, unrounded.
// - fast: activations are rounded to 8 bits, to the nearest of 255 levels between -a and a, where a
//   is the largest magnitude among `unit` columns (32, or 16 if W's blocks have 16); palettes are
//   rounded to 16 bits with their own scale (8 would double the error of the activations). Products
//   and their sums within a unit are exact integers; units are scaled and added in fp32. A unit that
//   contains an infinity or NaN becomes NaN.
//
// Promise: y[i, j] has the same bits for every split of n over threads and for every m: neither the
// number nor the content of other rows matters. Kernels differ in the rounding of sums.
#pragma once

#include <cstddef>
#include <vector>

#include "pippin/kernels/kernel.h"
#include "pippin/kernels/quantized_dot/args.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<QuantizedDotKernels>> quantized_dot_kernels();
// Returns the first table that `cpu` can run.
const QuantizedDotKernels& choose_quantized_dot(const CpuFeatures& cpu);

// Returns one of a matrix's scales or palette entries.
float stored_number(const void* numbers, WeightType type, int64_t index);

// Whether the fast dot supports the matrix: k is a multiple of 32; blocks have one row of scales
// per row of W and 16 columns or a multiple of 32; palettes apply to whole rows and have their byte
// form.
bool can_dot(const QuantizedMatrix& w);

// Palettes rounded to 16 bits and split into bytes: value ~ (256 * high + low - 32768) * scale. A
// palette's high bytes start at a multiple of 2 * byte_palette_stride(bits), and its low bytes
// byte_palette_stride(bits) after them, so that kernels may read whole registers. Entries repeat up
// to there, so that bits above those of a code do not matter.
struct BytePalettes {
  std::vector<uint8_t> bytes;
  std::vector<float> scales;
};
constexpr int64_t byte_palette_stride(int bits) {
  return bits <= 4 ? 16 : bits <= 6 ? 64 : 256;
}
BytePalettes make_byte_palettes(const void* palettes, WeightType type, int bits, int64_t count);

// The form of x that `kernels.dot` needs for this matrix and m rows, and its size in bytes.
QuantizedRows quantized_form(const QuantizedDotKernels& kernels, const QuantizedMatrix& w,
                             int64_t m);
// Whether rows in one form can be used as rows in the other, for equal m.
bool same_form(const QuantizedRows& a, const QuantizedRows& b);
int64_t quantized_bytes(const QuantizedRows& form);
// Sets the form's pointers; `memory` is aligned to 64 and holds quantized_bytes().
void place_quantized(QuantizedRows& form, void* memory);

// The rows [begin, end) of x in the form of all of them; `begin` is even. `dot` gives them the same
// bits if they are more than a few, as all of them are.
QuantizedRows part_of(const QuantizedRows& rows, int64_t begin, int64_t end);

// The scratch size per thread that runs `dot`.
int64_t quantized_dot_scratch_bytes();

// Split n over threads in multiples of this, or of the second for a few rows.
constexpr int64_t kQuantizedDotGrain = 32;
constexpr int64_t kFewRowsGrain = 16;

}  // namespace pippin::kernels
