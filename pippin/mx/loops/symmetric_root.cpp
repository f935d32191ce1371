#include "pippin/mx/loops/symmetric_root.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

// Jacobi's method: rotates the off-diagonal elements to zero, pair by pair. a becomes diagonal, and
// the columns of v the eigenvectors.
void diagonalize(std::vector<double>& a, std::vector<double>& v, size_t n) {
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double beside = 0, along = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) (i == j ? along : beside) += a[i * n + j] * a[i * n + j];
    }
    if (!(beside > 1e-26 * along)) return;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const double off = a[p * n + q];
        if (off == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto turn = [c, s](double& x, double& y) {
          const double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (size_t k = 0; k < n; ++k) turn(a[k * n + p], a[k * n + q]);
        for (size_t k = 0; k < n; ++k) turn(a[p * n + k], a[q * n + k]);
        for (size_t k = 0; k < n; ++k) turn(v[k * n + p], v[k * n + q]);
      }
    }
  }
}

class SymmetricRoot final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "symmetric_root"; }
  void eval(Node& out) const override {
    const auto n = static_cast<size_t>(out.shape.back());
    std::vector<double> all(static_cast<size_t>(out.size));
    copy_to(*out.inputs[0], reinterpret_cast<std::byte*>(all.data()), float64);
    out.allocate();
    auto* to = reinterpret_cast<float*>(out.data);
    for (size_t first = 0; n > 0 && first < all.size(); first += n * n) {
      std::vector<double> a(all.begin() + static_cast<ptrdiff_t>(first),
                            all.begin() + static_cast<ptrdiff_t>(first + n * n));
      std::vector<double> v(n * n, 0);
      diagonalize(a, v, n);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (size_t k = 0; k < n; ++k) {
            sum += v[i * n + k] * std::sqrt(std::max(0.0, a[k * n + k])) * v[j * n + k];
          }
          to[first + i * n + j] = static_cast<float>(sum);
        }
      }
    }
  }
};

}  // namespace

array symmetric_root(const array& x) {
  return make(shared_primitive<SymmetricRoot>(), float32, x.shape(), {&x});
}

}  // namespace pippin::mx
