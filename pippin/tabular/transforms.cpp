#include "pippin/tabular/transforms.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace pippin::tabular {

double logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double probit(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

void softmax(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  for (double& score : scores) score = std::exp(score - largest);
  divide_by_sum(scores);
}

std::vector<double> softmax_with_zero(const std::vector<double>& scores) {
  std::vector<double> result = {0.0};
  result.insert(result.end(), scores.begin(), scores.end());
  softmax(result);
  return result;
}

void divide_by_sum(std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (sum == 0) {
    std::fill(values.begin(), values.end(), 0.0);
  } else {
    for (double& value : values) value /= sum;
  }
}

}  // namespace pippin::tabular
