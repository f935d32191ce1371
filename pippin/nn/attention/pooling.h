// Pooling of the states of a text's tokens into one vector, as in sentence-transformers.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"

namespace pippin::nn {

enum class Pooling {
  First,  // the state at position 0
  Max,    // the largest value of each feature
  Mean,
  MeanSqrt,      // the sum over the square root of the number of tokens
  WeightedMean,  // position i, from 1, has weight i
  Last,          // the state of the last token
};
// Each result has the size of a state; results are concatenated in this order.
using PoolingOptions = std::vector<Pooling>;

// `states` fp32 (batch, length, features), `mask` int32 (batch, length): 1 for tokens that count,
// at least one. The result is (batch, ways * features).
array::Array pool(const PoolingOptions& options, const array::Array& states,
                  const array::Array& mask);

// SPLADE's pooling (Formal et al. 2021): a weight for each token of the vocabulary.
struct SpladeOptions {
  bool sum = false;    // over the tokens of the text, else the largest
  bool twice = false;  // log(1 + log(1 + x))
};
// Returns (batch, vocabulary) for logits fp32 (batch, length, vocabulary) and a mask as above.
array::Array splade_pool(const SpladeOptions& options, const array::Array& logits,
                         const array::Array& mask);

// Returns int32 (batch, length) for such ids: 1 at the first `token`, or at the first of the
// largest ids if `token` is below 0; at position 0 if the text lacks it.
array::Array end_marks(const array::Array& ids, int32_t token);

// Normalizes the rows (batch, features) to length 1; a row of zeros stays.
array::Array to_length_one(const array::Array& x);

}  // namespace pippin::nn
