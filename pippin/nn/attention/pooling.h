// From the states of a text's tokens to one vector: sentence-transformers' ways.
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
// Each gives as many numbers as a state has, concatenated in this order.
using PoolingOptions = std::vector<Pooling>;

// `states` fp32 (batch, length, features), `mask` int32 (batch, length): 1 for tokens that count,
// at least one. The result is (batch, ways * features).
array::Array pool(const PoolingOptions& options, const array::Array& states,
                  const array::Array& mask);

// SPLADE's (Formal et al. 2021): how much a text is about each token of the vocabulary.
struct SpladeOptions {
  bool sum = false;    // over the tokens of the text, else the largest
  bool twice = false;  // log(1 + log(1 + x))
};
// (batch, vocabulary) of logits fp32 (batch, length, vocabulary) and a mask as above.
array::Array splade_pool(const SpladeOptions& options, const array::Array& logits,
                         const array::Array& mask);

// int32 (batch, length) of ids of that form: 1 at the first one that is `token`, or for a token
// below 0 at the first of the largest; at position 0 where there is none.
array::Array end_marks(const array::Array& ids, int32_t token);

// The rows (batch, features) at length 1; a row of zeros stays.
array::Array to_length_one(const array::Array& x);

}  // namespace pippin::nn
