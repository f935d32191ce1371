// The top k of each row, which may have fewer than k columns.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"

namespace pippin::nn {

// Returns the k-th largest of each row (1, rows, q, columns), as (1, rows, q, 1); -inf if a row has
// fewer columns, a single -inf if no row can have more than k. `path` is the prefix of constants'
// names.
array::Array kth_largest(const array::Array& scores, int64_t k, const std::string& path);
// Returns the scores that are at least that, and -inf in place of the others.
array::Array best_keys(const array::Array& scores, int64_t k, const std::string& path);

}  // namespace pippin::nn
