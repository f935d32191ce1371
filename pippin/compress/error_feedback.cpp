#include "pippin/compress/error_feedback.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/kernels_here.h"

namespace pippin::compress {
namespace {

constexpr int64_t kFeedbackPanel = 64;

}  // namespace

std::vector<int64_t> order_of_inputs(const InputMoments& moments, int64_t block) {
  const auto moment = [&](int64_t input) {
    return moments.products[static_cast<size_t>(input * (moments.size + 1))];
  };
  std::vector<int64_t> blocks(static_cast<size_t>(moments.size / block));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::vector<double> sums(blocks.size());
  for (int64_t input = 0; input < moments.size; ++input) {
    sums[static_cast<size_t>(input / block)] += double{moment(input)};
  }
  std::stable_sort(blocks.begin(), blocks.end(), [&](int64_t a, int64_t b) {
    return sums[static_cast<size_t>(a)] > sums[static_cast<size_t>(b)];
  });
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(moments.size));
  for (const int64_t which : blocks) {
    const auto first = static_cast<ptrdiff_t>(order.size());
    for (int64_t i = 0; i < block; ++i) order.push_back(which * block + i);
    std::stable_sort(order.begin() + first, order.end(),
                     [&](int64_t a, int64_t b) { return moment(a) > moment(b); });
  }
  return order;
}

// Reversed: with H' = H with rows and columns in reverse order, H = U D U^T becomes the usual H' =
// C^T C with C upper triangular: U[i][j] = C[n-1-j][n-1-i] / C[n-1-j][n-1-j].
ErrorFeedback::ErrorFeedback(const InputMoments& moments, std::vector<int64_t> order,
                             ThreadPool& pool)
    : moments_(moments),
      size_(moments.size),
      order_(std::move(order)),
      unit_(static_cast<size_t>(size_ * size_)),
      importance_(static_cast<size_t>(size_)) {
  double trace = 0;
  for (int64_t i = 0; i < size_; ++i) {
    const float moment = moments.products[static_cast<size_t>(i * (size_ + 1))];
    if (!std::isfinite(moment)) {
      fail(ErrorCode::InvalidArgument, "the inputs' second moments contain NaN or infinity");
    }
    trace += double{moment};
  }
  double mean = trace / static_cast<double>(size_);
  if (!(mean > 0)) mean = 1;
  for (double damping = 0.01;; damping *= 10) {
    damping_ = static_cast<float>(damping * mean);
    fill(static_cast<float>(1 / mean), pool);
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
  for (int64_t i = 0; i < size_; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      unit_[static_cast<size_t>(i * size_ + j)] =
          moments.products[static_cast<size_t>(j * size_ + i)];
    }
  }
}

// The upper triangle of H', times `scale`, with its damping.
void ErrorFeedback::fill(float scale, ThreadPool& pool) {
  pool.run([&](int part, int parts) {
    for (int64_t i = part; i < size_; i += parts) {
      const int64_t a = order_[static_cast<size_t>(size_ - 1 - i)];
      float* to = unit_.data() + i * size_;
      for (int64_t j = i; j < size_; ++j) {
        // Only H[a][b] with a <= b is filled.
        const int64_t b = order_[static_cast<size_t>(size_ - 1 - j)];
        to[j] =
            moments_.products[static_cast<size_t>(std::min(a, b) * size_ + std::max(a, b))] * scale;
      }
      to[i] += damping_ * scale;
    }
  });
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

float ErrorFeedback::moment(int64_t input) const {
  return moments_.products[static_cast<size_t>(input * (size_ + 1))] + damping_;
}

void ErrorFeedback::add_row(int64_t input, float factor, float* sums) const {
  kernels_here().add_products(&factor, before(input), 0, 1, input, sums);
  sums[input] += factor * moment(input);
  kernels_here().add_products(&factor, after(input), 0, 1, size_ - input - 1, sums + input + 1);
}

void ErrorFeedback::copy_row(int64_t input, int64_t first, int64_t count, float* to) const {
  const int64_t split = std::clamp(input - first, int64_t{0}, count);
  std::copy_n(before(input) + first, split, to);
  if (split == count) return;
  std::copy_n(moments_.products.data() + input * size_ + first + split, count - split, to + split);
  if (first + split == input) to[split] += damping_;
}

// H is processed a panel of rows at a time: to the left of its diagonal block, the block, and to
// its right.
void ErrorFeedback::multiply(const float* rows, int64_t count, float* sums) const {
  std::fill(sums, sums + count * size_, 0.0f);
  for (int64_t panel = 0; panel < size_; panel += kFeedbackPanel) {
    const int64_t end = std::min(size_, panel + kFeedbackPanel), width = end - panel;
    for (int64_t r = 0; r < count; ++r) {
      const float* factors = rows + r * size_ + panel;
      float* to = sums + r * size_;
      kernels_here().add_products(factors, before(panel), size_, width, panel, to);
      for (int64_t k = panel; k < end; ++k) {
        const float factor = factors[k - panel];
        kernels_here().add_products(&factor, before(k) + panel, 0, 1, k - panel, to + panel);
        to[k] += factor * moment(k);
        kernels_here().add_products(&factor, after(k), 0, 1, end - k - 1, to + k + 1);
      }
      kernels_here().add_products(factors, after(panel) + width - 1, size_, width, size_ - end,
                                  to + end);
    }
  }
}

}  // namespace pippin::compress
