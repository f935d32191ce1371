// Attention with linear biases (Press et al., ALiBi): a head's slope is subtracted from a score for
// every position between query and key.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/pass.h"

namespace pippin::nn {

struct AlibiOptions {
  std::vector<double> slopes;  // one per head
  double scale = 1.0;          // of the biases: Falcon divides them along with the scores
  // Rounds slopes, and their products with the key's position, to bfloat16, like Hugging Face's
  // Falcon.
  bool rounded = false;
};

// 2^(-8 i / n) for n heads, a power of two; for other numbers the slopes of the next smaller power,
// then every second one of the next larger: Bloom's and Falcon's.
std::vector<double> alibi_slopes(int64_t num_heads);
// MPT's: the slopes of the next larger power of two, every second one first, with exponents up to
// `max`.
std::vector<double> mpt_alibi_slopes(int64_t num_heads, double max);

// pass.mask with the biases of all heads, (1, heads, q, end).
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const Pass& pass);
// `mask` (1, 1, q, context) with the biases, for keys at positions 0 to context - 1.
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances);
// The same for a mask (1, 1, keys, q) of keys at the given positions, int32 (keys); those below 0
// are hidden by the mask.
array::Array alibi_mask(const AlibiOptions& options, int64_t context, const array::Array& mask,
                        const array::Array& distances, const array::Array& key_positions);

}  // namespace pippin::nn
