#include "pippin/app/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pippin::app {

SparseVector sparse_of(std::span<const float> dense, int64_t most) {
  std::vector<int32_t> indices;
  for (size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] != 0) indices.push_back(static_cast<int32_t>(i));
  }
  const auto at = [&](int32_t index) { return dense[static_cast<size_t>(index)]; };
  if (most > 0 && std::ssize(indices) > most) {
    std::stable_sort(indices.begin(), indices.end(),
                     [&](int32_t a, int32_t b) { return at(a) > at(b); });
    indices.resize(static_cast<size_t>(most));
    std::sort(indices.begin(), indices.end());
  }
  SparseVector result;
  result.values.reserve(indices.size());
  for (const int32_t index : indices) result.values.push_back(at(index));
  result.indices = std::move(indices);
  return result;
}

double dot(const SparseVector& a, const SparseVector& b) {
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.indices.size() && j < b.indices.size();) {
    if (a.indices[i] == b.indices[j]) sum += double{a.values[i]} * b.values[j];
    const bool next_a = a.indices[i] <= b.indices[j], next_b = b.indices[j] <= a.indices[i];
    i += next_a ? 1 : 0;
    j += next_b ? 1 : 0;
  }
  return sum;
}

double norm(const SparseVector& a) {
  return std::sqrt(dot(a, a));
}

double max_sim(const TokenVectors& query, const TokenVectors& document) {
  double sum = 0;
  if (document.count() == 0 || query.width != document.width) return 0;
  for (size_t i = 0; i < query.count(); ++i) {
    double best = std::numeric_limits<double>::lowest();
    for (size_t j = 0; j < document.count(); ++j) {
      double product = 0;
      for (size_t k = 0; k < query.width; ++k) {
        product += double{query.values[i * query.width + k]} * document.values[j * query.width + k];
      }
      best = std::max(best, product);
    }
    sum += best;
  }
  return sum;
}

}  // namespace pippin::app
