#include "pippin/tabular/coupling.h"

#include <algorithm>
#include <cmath>

namespace pippin::tabular {
namespace {

// Minimizes p'Qp over probabilities p.
class Coupling {
 public:
  Coupling(const std::vector<double>& pairs, size_t classes)
      : n_(classes), q_(n_ * n_, 0.0), p_(n_, 1.0 / static_cast<double>(n_)), product_(n_, 0.0) {
    size_t pair = 0;
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = i + 1; j < n_; ++j, ++pair) {
        const double of_i = pairs[pair], of_j = 1 - of_i;
        at(i, i) += of_j * of_j;
        at(j, j) += of_i * of_i;
        at(i, j) = at(j, i) = -of_i * of_j;
      }
    }
  }

  std::vector<double> solve() {
    const double tolerance = 0.005 / static_cast<double>(n_);
    const size_t rounds = std::max<size_t>(100, n_);
    for (size_t round = 0; round < rounds; ++round) {
      multiply();
      if (largest_gap() < tolerance) break;
      for (size_t t = 0; t < n_; ++t) improve(t);
    }
    return p_;
  }

 private:
  double& at(size_t i, size_t j) { return q_[i * n_ + j]; }

  // Recomputes Qp and p'Qp, so that rounding errors do not accumulate.
  void multiply() {
    square_ = 0;
    for (size_t i = 0; i < n_; ++i) {
      product_[i] = 0;
      for (size_t j = 0; j < n_; ++j) product_[i] += at(i, j) * p_[j];
      square_ += p_[i] * product_[i];
    }
  }

  double largest_gap() const {
    double gap = 0;
    for (const double value : product_) gap = std::max(gap, std::abs(value - square_));
    return gap;
  }

  // Moves p in one coordinate, scales it to sum to 1, and updates the products.
  void improve(size_t t) {
    const double step = (square_ - product_[t]) / at(t, t), scale = 1 + step;
    p_[t] += step;
    square_ = (square_ + step * (step * at(t, t) + 2 * product_[t])) / scale / scale;
    for (size_t j = 0; j < n_; ++j) {
      product_[j] = (product_[j] + step * at(t, j)) / scale;
      p_[j] /= scale;
    }
  }

  const size_t n_;
  std::vector<double> q_, p_, product_;
  double square_ = 0;
};

}  // namespace

std::vector<double> coupled(const std::vector<double>& pairs, size_t classes) {
  if (classes == 2) return {pairs[0], 1 - pairs[0]};
  return Coupling(pairs, classes).solve();
}

}  // namespace pippin::tabular
