// From the states of a text's tokens to one vector: sentence-transformers' ways.
#pragma once

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

// The rows (batch, features) normalized to length 1; a row of zeros stays.
array::Array to_length_one(const array::Array& x);

}  // namespace pippin::nn
