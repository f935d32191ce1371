// From the states of a text's tokens to one vector: sentence-transformers' ways.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"

namespace pippin::nn {

// Each that is set gives as many numbers as a state has, one after another in this order.
struct PoolingOptions {
  bool first = false;  // the state at position 0
  bool max = false;    // the largest of each feature
  bool mean = false;
  bool mean_sqrt = false;      // the sum over the square root of the number of tokens
  bool weighted_mean = false;  // position i, from 1, counts i times
  bool last = false;           // the state of the last token
};

int64_t count(const PoolingOptions& options);

// `states` fp32 (batch, length, features), `mask` int32 (batch, length): 1 for tokens that count,
// of which there is one at least. The result is (batch, count * features).
array::Array pool(const PoolingOptions& options, const array::Array& states,
                  const array::Array& mask);

// The rows (batch, features) at length 1; a row of zeros stays.
array::Array to_length_one(const array::Array& x);

}  // namespace pippin::nn
