// The best of each row, where there may be fewer columns than are to be chosen.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"

namespace pippin::nn {

// The k-th largest of each row (1, rows, q, columns), as (1, rows, q, 1); -inf where a row has
// fewer columns. `path` names constants.
array::Array kth_largest(const array::Array& scores, int64_t k, const std::string& path);
// Scores that are at least that, and -inf for the others.
array::Array best_keys(const array::Array& scores, int64_t k, const std::string& path);

}  // namespace pippin::nn
