#include "pippin/compress/error_feedback.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/kernels_here.h"

namespace pippin::compress {
namespace {

constexpr int64_t kFeedbackPanel = 64;

}  // namespace

// Reversed: with H' = H with rows and columns in reverse order, H = U D U^T becomes the usual H' =
// C^T C with C upper triangular: U[i][j] = C[n-1-j][n-1-i] / C[n-1-j][n-1-j].
ErrorFeedback::ErrorFeedback(const InputMoments& moments, ThreadPool& pool)
    : size_(moments.size), importance_(static_cast<size_t>(moments.size)) {
  double trace = 0;
  for (int64_t i = 0; i < size_; ++i) {
    trace += double{moments.products[static_cast<size_t>(i * size_ + i)]};
  }
  double mean = trace / static_cast<double>(size_);
  if (!(mean > 0) || !std::isfinite(mean)) mean = 1;
  const auto factor_one = static_cast<float>(1 / mean);
  for (double damping = 0.01;; damping *= 10) {
    unit_.resize(static_cast<size_t>(size_ * size_));
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t from = size_ - 1 - i;
      float* to = unit_.data() + i * size_;
      // Row i of H' is column n-1-i of H, from its end; only H[a][b] with a <= b is filled.
      for (int64_t j = i; j < size_; ++j) {
        to[j] = moments.products[static_cast<size_t>((size_ - 1 - j) * size_ + from)] * factor_one;
      }
      std::fill(to, to + i, 0.0f);
      to[i] += static_cast<float>(damping);
    }
    if (factor(pool)) break;
    if (damping > 1e6)
      fail(ErrorCode::InvalidArgument, "the inputs' second moments contain NaN or infinity");
  }
  double total = 0;
  for (int64_t i = 0; i < size_; ++i) {
    const double diagonal = double{unit_[static_cast<size_t>((size_ - 1 - i) * (size_ + 1))]};
    importance_[static_cast<size_t>(i)] = static_cast<float>(diagonal * diagonal);
    total += diagonal * diagonal;
  }
  const auto scale = static_cast<float>(static_cast<double>(size_) / total);
  for (float& value : importance_) value *= scale;
  // Divides the rows of C by their diagonals, and reflects them about the other diagonal.
  for (int64_t i = 0; i < size_; ++i) {
    float* row = unit_.data() + i * size_;
    const float inverse = 1 / row[i];
    for (int64_t j = i + 1; j < size_; ++j) row[j] *= inverse;
    row[i] = 1;
  }
  for (int64_t i = 0; i < size_; ++i) {
    for (int64_t j = i; j < size_ - 1 - i; ++j) {
      std::swap(unit_[static_cast<size_t>(i * size_ + j)],
                unit_[static_cast<size_t>((size_ - 1 - j) * size_ + size_ - 1 - i)]);
    }
  }
}

// Cholesky factorization of the upper triangle in place, a panel of rows at a time; all threads
// share the updates of a panel by the rows above. False if a pivot is not positive.
bool ErrorFeedback::factor(ThreadPool& pool) {
  float* c = unit_.data();
  const int64_t n = size_;
  const auto subtract = [&](int64_t row, int64_t first, int64_t last) {
    float factors[kFeedbackPanel];
    for (int64_t p = first; p < last; ++p) factors[p - first] = -c[p * n + row];
    kernels_here().add_products(factors, c + first * n + row, n, last - first, n - row,
                                c + row * n + row);
  };
  for (int64_t panel = 0; panel < n; panel += kFeedbackPanel) {
    check_cancel();
    const int64_t end = std::min(n, panel + kFeedbackPanel);
    pool.run([&](int part, int parts) {
      for (int64_t above = 0; above < panel; above += kFeedbackPanel) {
        for (int64_t row = panel + part; row < end; row += parts) {
          subtract(row, above, above + kFeedbackPanel);
        }
      }
    });
    for (int64_t row = panel; row < end; ++row) {
      subtract(row, panel, row);
      float* from = c + row * n;
      if (!(from[row] > 1e-7f) || !std::isfinite(from[row])) return false;
      const float inverse = 1 / std::sqrt(from[row]);
      for (int64_t j = row; j < n; ++j) from[j] *= inverse;
    }
  }
  return true;
}

}  // namespace pippin::compress
