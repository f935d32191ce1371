#include "pippin/sound/normalize.h"

#include <cmath>

namespace pippin::sound {

std::vector<float> normalized_samples(std::span<const float> samples) {
  std::vector<float> result(samples.begin(), samples.end());
  normalize_columns(result, samples.size(), 1, {.variance_epsilon = 1e-7});
  return result;
}

void normalize_columns(std::span<float> values, size_t rows, size_t columns,
                       const ColumnNorm& norm) {
  std::vector<double> means(columns), variances(columns);
  const auto for_each = [&](auto&& visit) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        visit(values[row * columns + column], column);
      }
    }
  };
  for_each([&](float value, size_t column) { means[column] += value; });
  for (double& mean : means) mean /= static_cast<double>(rows);
  for_each([&](float value, size_t column) {
    const double difference = value - means[column];
    variances[column] += difference * difference;
  });
  const size_t divisor = norm.sample_variance ? rows - 1 : rows;
  std::vector<double> factors(columns, 1.0);
  for (size_t column = 0; norm.variances && column < columns; ++column) {
    const double variance = variances[column] / static_cast<double>(divisor);
    const double deviation = std::sqrt(variance + norm.variance_epsilon) + norm.deviation_epsilon;
    // transformers gets NaN from a band without variation, such as digital silence.
    factors[column] = deviation > 0 ? 1 / deviation : 0;
  }
  for_each([&](float& value, size_t column) {
    const double mean = norm.means ? means[column] : 0;
    value = static_cast<float>((value - mean) * factors[column]);
  });
}

}  // namespace pippin::sound
