#include "pippin/mx/quantized_product.h"

#include <algorithm>
#include <vector>

#include "pippin/base/dealt_range.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/mx/eval.h"

namespace pippin::mx {
namespace {

// Of the last eighth of a matrix, an eighth of this (base/dealt_range.h).
constexpr int64_t kPieceBytes = int64_t{1} << 18;
constexpr int64_t kFewRows = 2 * kernels::kMostAffineRows;

const kernels::AffineDotKernels& table() {
  static const auto& chosen = kernels::choose_affine_dot(cpu_features());
  return chosen;
}

void few_rows(const kernels::AffineMatrix& w, const float* x, int64_t m, float* y) {
  kernels::AffineRows form = kernels::affine_form(w, m);
  std::vector<float> memory(static_cast<size_t>(kernels::affine_floats(form)));
  kernels::prepare_affine_rows(table(), w, x, w.k, memory.data(), form);
  const kernels::AffineDotArgs args{&w, &form, y, w.n, 0, w.n};
  if (w.n * w.k * m < (int64_t{1} << 18)) return table().dot(args);
  // No cache holds the weights of a model: threads take unlike times.
  const int64_t pieces = w.n * w.k * w.bits / 8 / kPieceBytes;
  deal_range(pool(), w.n, kernels::kAffineDotGrain, pieces, [&](int /*part*/) {
    return [&](const Range& range) {
      kernels::AffineDotArgs own = args;
      own.n_begin = range.begin;
      own.n_end = range.end;
      table().dot(own);
    };
  });
}

void many_rows(const kernels::AffineMatrix& w, const float* x, int64_t m, float* y) {
  static const auto& kernel = kernels::choose_dot(kernels::WeightType::F32, cpu_features());
  const int64_t tile = std::max<int64_t>(16, (int64_t{1} << 18) / w.k / 16 * 16);  // 1 MB
  parallel((w.n + 15) / 16, w.n * w.k * m, [&](int64_t begin, int64_t end) {
    std::vector<float> expanded(static_cast<size_t>(tile * w.k));
    const int64_t last = std::min(w.n, end * 16);
    for (int64_t j = begin * 16; j < last; j += tile) {
      const int64_t columns = std::min(tile, last - j);
      for (int64_t c = 0; c < columns; ++c) {
        table().expand(w, j + c, 0, w.k, expanded.data() + c * w.k);
      }
      kernel.function({x, w.k, expanded.data(), w.k, nullptr, y + j, w.n, m, columns, w.k});
    }
  });
}

}  // namespace

void expand_quantized(const kernels::AffineMatrix& w, int64_t j, float* y) {
  table().expand(w, j, 0, w.k, y);
}

void multiply_quantized(const kernels::AffineMatrix& w, const float* x, int64_t m, float* y) {
  if (m > kFewRows || !kernels::can_affine_dot(w)) return many_rows(w, x, m, y);
  for (int64_t i = 0; i < m; i += kernels::kMostAffineRows) {
    const int64_t rows = std::min(kernels::kMostAffineRows, m - i);
    few_rows(w, x + i * w.k, rows, y + i * w.n);
  }
}

}  // namespace pippin::mx
