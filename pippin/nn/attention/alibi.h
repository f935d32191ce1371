// Attention with linear biases (Press et al., ALiBi): a score loses a head's slope for every
// position between query and key.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

struct AlibiOptions {
  std::vector<double> slopes;  // one a head
  double scale = 1.0;          // of the biases: Falcon divides them with the scores
  // Slopes, and their products with the key's position, as Hugging Face's Falcon rounds them: to
  // bfloat16.
  bool rounded = false;
};

// 2^(-8 i / n) for n heads, a power of two; for other numbers those of the next smaller power, then
// every second one of the next larger: Bloom's and Falcon's.
std::vector<double> alibi_slopes(int64_t num_heads);
// MPT's: those of the next larger power of two, every second one first, with exponents up to `max`.
std::vector<double> mpt_alibi_slopes(int64_t num_heads, double max);

// pass.mask with the biases of all heads, (1, heads, q, end).
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const Pass& pass);
// `mask` (1, 1, q, context) with them, for keys at positions 0 to context - 1.
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances);
// The same for a mask (1, 1, keys, q) of keys at the given positions, int32 (keys); those below 0
// are hidden by the mask.
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances, const array::Array& key_positions);

}  // namespace pippin::nn
