#include "pippin/mx/loops/quantized_product.h"

#include <algorithm>
#include <memory>

#include "pippin/base/threads/dealt_range.h"
#include "pippin/base/unwritten.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/small_vector.h"

namespace pippin::mx {
namespace {

// In the last eighth of a matrix, an eighth of this (base/threads/dealt_range.h).
constexpr int64_t kPieceBytes = int64_t{1} << 18;
constexpr int64_t kFewRows = 2 * kernels::kMostAffineRows;

const kernels::AffineDotKernels& table() {
  static const auto& chosen = kernels::choose_affine_dot(cpu_features());
  return chosen;
}

// Uninitialized memory, which must be written before it is read.
std::unique_ptr<float[]> floats(int64_t count) {
  return make_unwritten<float>(static_cast<size_t>(count));
}

// A product of few rows in progress.
struct Part {
  kernels::AffineDotArgs args;
  int64_t first;  // its first column of y among those of all products, in kAffineDotGrain

  void run(int64_t begin, int64_t end) const {
    kernels::AffineDotArgs own = args;
    own.n_begin = begin;
    own.n_end = std::min(end, args.w->n);
    table().dot(own);
  }
};

void few_rows(std::span<const QuantizedProduct> products, const float* x, int64_t m) {
  constexpr int64_t kGrain = kernels::kAffineDotGrain;
  const kernels::AffineMatrix& first = products[0].w;
  kernels::AffineRows form = kernels::affine_form(first, m);
  const auto memory = floats(kernels::affine_floats(form));
  kernels::prepare_affine_rows(table(), first, x, first.k, memory.get(), form);
  SmallVector<Part, 8> parts;
  int64_t grains = 0, bytes = 0;
  for (const QuantizedProduct& one : products) {
    parts.push_back({{&one.w, &form, one.y, one.w.n, 0, one.w.n}, grains});
    grains += (one.w.n + kGrain - 1) / kGrain;
    bytes += one.w.n * one.w.k * one.w.bits / 8;
  }
  const auto run = [&](const Range& range) {
    for (const Part& part : parts) {
      const int64_t last = (part.args.w->n + kGrain - 1) / kGrain;
      const int64_t begin = std::max<int64_t>(range.begin - part.first, 0);
      const int64_t end = std::min(range.end - part.first, last);
      if (begin < end) part.run(begin * kGrain, end * kGrain);
    }
  };
  if (bytes * m < (int64_t{1} << 17)) return run({0, grains});
  // A model's weights do not fit a cache, so threads need different times.
  deal_range(pool(), grains, 1, bytes / kPieceBytes, [&](int /*part*/) { return run; });
}

void many_rows(const kernels::AffineMatrix& w, const float* x, int64_t m, float* y) {
  static const auto& kernel = kernels::choose_dot(kernels::WeightType::F32, cpu_features());
  const int64_t tile = std::max<int64_t>(16, (int64_t{1} << 18) / w.k / 16 * 16);  // 1 MB
  parallel((w.n + 15) / 16, w.n * w.k * m, [&](int64_t begin, int64_t end) {
    const auto expanded = floats(tile * w.k);
    const int64_t last = std::min(w.n, end * 16);
    for (int64_t j = begin * 16; j < last; j += tile) {
      const int64_t columns = std::min(tile, last - j);
      for (int64_t c = 0; c < columns; ++c) {
        table().expand(w, j + c, 0, w.k, expanded.get() + c * w.k);
      }
      kernel.function({x, w.k, expanded.get(), w.k, nullptr, y + j, w.n, m, columns, w.k});
    }
  });
}

}  // namespace

void expand_quantized(const kernels::AffineMatrix& w, int64_t j, float* y) {
  table().expand(w, j, 0, w.k, y);
}

void multiply_quantized(std::span<const QuantizedProduct> products, const float* x, int64_t m) {
  const kernels::AffineMatrix& first = products[0].w;
  if (m <= kFewRows && kernels::can_affine_dot(first)) {
    SmallVector<QuantizedProduct, 8> rest;
    for (const QuantizedProduct& one : products) rest.push_back(one);
    for (int64_t i = 0; i < m; i += kernels::kMostAffineRows) {
      const int64_t rows = std::min(kernels::kMostAffineRows, m - i);
      few_rows({rest.begin(), rest.size()}, x + i * first.k, rows);
      for (QuantizedProduct& one : rest) one.y += rows * one.w.n;
    }
    return;
  }
  for (const QuantizedProduct& one : products) many_rows(one.w, x, m, one.y);
}

}  // namespace pippin::mx
