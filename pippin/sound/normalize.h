// Samples and features with mean 0 and variance 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pippin::sound {

// Returns (x - mean) / sqrt(variance + 1e-7), as transformers' zero_mean_unit_var_norm.
std::vector<float> normalized_samples(std::span<const float> samples);

// The options of normalize_columns().
struct ColumnNorm {
  bool means = true, variances = true;
  bool sample_variance = false;  // divides the sum of squares by count - 1 instead of count
  double variance_epsilon = 0;   // added to the variance
  double deviation_epsilon = 0;  // added to its square root
};

// Normalizes each column of `rows` rows over these rows.
void normalize_columns(std::span<float> values, size_t rows, size_t columns,
                       const ColumnNorm& norm);

}  // namespace pippin::sound
