// Products in fp32: exact values of W, unrounded x. The sum of an element is made of 32 sums, of
// the groups g = i (mod 32) in their order, added up in the order of i: the same for any number of
// rows, and possible for kernels that keep a few sums at a time.
#pragma once

#include "pippin/cuda/kernels/dot_weights.cuh"

namespace pippin::cuda {

// The part of the result that a block computes.
struct DotPlace {
  // Of the product:
  const unsigned char* rows;
  const void* scales;
  const void* shifts;
  int64_t row_bytes;
  int index, n;

  int64_t batch, matrix;
  int first_column, first_row;
  int64_t x_row;  // of the first row: counted in all batches
  bool is_nothing;
};
// Selects without an index, so that the arguments may be in registers.
template <typename T>
DEVICE T of_product(const DotArgs& a, int index, T DotProduct::*member) {
  T value = a.products[0].*member;
  UNROLL
  for (int i = 1; i < DotArgs::kMostProducts; ++i) {
    if (i == index) value = a.products[i].*member;
  }
  return value;
}
DEVICE DotPlace dot_place(const DotArgs& a, int columns, int rows) {
  DotPlace place;
  int64_t block = blockIdx.x;
  place.first_row = static_cast<int>(block % a.row_blocks) * rows;
  block /= a.row_blocks;
  const int column_block = static_cast<int>(block % a.blocks);
  place.batch = block / a.blocks;
  place.matrix = place.batch;
  place.x_row = place.batch * a.m + place.first_row;
  place.is_nothing = false;
  if (a.pairs != nullptr) {
    place.is_nothing = place.batch >= *a.num_pairs;
    if (!place.is_nothing) {
      place.matrix = a.pairs[place.batch].expert;
      if (a.pairs_share_x) place.x_row = a.pairs[place.batch].row;
    }
  }
  place.index = 0;
  UNROLL
  for (int i = 1; i < DotArgs::kMostProducts; ++i) {
    if (i < a.num_products && column_block >= a.products[i].first_block) place.index = i;
  }
  place.rows = of_product(a, place.index, &DotProduct::rows);
  place.scales = of_product(a, place.index, &DotProduct::scales);
  place.shifts = of_product(a, place.index, &DotProduct::shifts);
  place.row_bytes = of_product(a, place.index, &DotProduct::row_bytes);
  place.n = of_product(a, place.index, &DotProduct::n);
  place.first_column =
      (column_block - of_product(a, place.index, &DotProduct::first_block)) * columns;
  return place;
}

// Stores y(i, j) of the product.
DEVICE void store_dot(const DotArgs& a, const DotPlace& place, int i, int j, float sum) {
  if (i >= a.m || j >= place.n) return;
  const float* const bias = of_product(a, place.index, &DotProduct::bias);
  if (bias != nullptr) sum += bias[j];
  if (a.residual != nullptr) sum += a.residual[i * a.residual_stride + j];
  float* const y = of_product(a, place.index, &DotProduct::y) + place.batch * a.y_batch;
  y[i * of_product(a, place.index, &DotProduct::y_stride) + j] = sum;
}

// Row i of the block's, or the last one.
DEVICE const float* row_of_x(const DotArgs& a, const DotPlace& place, int i) {
  if (a.pairs != nullptr) return a.x + place.x_row * a.x_stride;
  return a.x + place.batch * a.x_batch + min(place.first_row + i, a.m - 1) * a.x_stride;
}

// The element of a product with a matrix of the form F, from the sum of its codes' products;
// x_at(i) returns column i of x.
template <MatrixForm F, typename Column>
DEVICE float product_of(const DotPlace& place, int j, float sum, const Column& x_at) {
  if constexpr (F == MatrixForm::E4M7) {
    const int64_t row = place.matrix * place.n + j;
    sum *= static_cast<const float*>(place.scales)[row];
    const auto* const begins = static_cast<const uint32_t*>(place.shifts) + row;
    const auto* const exceptions = static_cast<const E4M7Exception*>(place.shifts);
    for (uint32_t e = begins[0]; e < begins[1]; ++e) {
      const E4M7Exception one = exceptions[e];
      sum = fmaf(x_at(one.column), one.value, sum);
    }
  }
  return sum;
}

// Stores y(i, j) of a matrix of the form F from the sum of its codes' products.
template <MatrixForm F>
DEVICE void store_sum(const DotArgs& a, const DotPlace& place, int i, int j, float sum) {
  if (i >= a.m || j >= place.n) return;
  const auto x_at = [&](uint32_t column) {
    return row_of_x(a, place, i - place.first_row)[column];
  };
  store_dot(a, place, i, j, product_of<F>(place, j, sum, x_at));
}

// The sum of 32 numbers in their order.
DEVICE float sum_in_order(const float* sums) {
  float sum = sums[0];
  UNROLL_BY(8)
  for (int i = 1; i < 32; ++i) sum += sums[i];
  return sum;
}

// R rows of W for each warp and M of x; C groups at a time.
template <MatrixForm F, int R, int M, int C>
DEVICE void dot_fma(const DotArgs& a) {
  static_assert(R * M <= 32);
  SHARED(shared);
  const int lane = lane_index(), groups = (a.k + 7) / 8;
  float* const sums = reinterpret_cast<float*>(shared) + warp_index() * (R * M * 33);
  const DotPlace place = dot_place(a, block_threads() / 32 * R, M);
  if (place.is_nothing) return;
  const DotPlace& p = place;
  const int first = place.first_column + warp_index() * R;
  const auto row_of = [&](int r) {
    const int64_t j = min(first + r, p.n - 1);
    return WeightRow<F>(p.rows + place.matrix * a.w_batch_bytes, p.row_bytes, p.scales, p.shifts,
                        a.numbers, j, place.matrix * p.n + j, a.k, a.has_aligned_rows,
                        a.is_computed);
  };
  const float* x[M];
  UNROLL
  for (int i = 0; i < M; ++i) {
    x[i] = row_of_x(a, place, i);
  }
  float acc[R][M];
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int i = 0; i < M; ++i) acc[r][i] = 0;
  }
  for (int begin = lane; begin < groups; begin += 32 * C) {
    RawEight raw[R][C];
    UNROLL
    for (int c = 0; c < C; ++c) {
      UNROLL
      for (int r = 0; r < R; ++r) {
        raw[r][c] = row_of(r).load(min(begin + 32 * c, groups - 1), a.numbers);
      }
    }
    UNROLL
    for (int c = 0; c < C; ++c) {
      const int group = begin + 32 * c;
      if (group >= groups) break;
      Eight w[R];
      UNROLL
      for (int r = 0; r < R; ++r) w[r] = row_of(r).values(raw[r][c]);
      UNROLL
      for (int i = 0; i < M; ++i) {
        const Eight e = load_eight(x[i], group, a.k, a.has_aligned_x);
        UNROLL
        for (int r = 0; r < R; ++r) {
          UNROLL
          for (int b = 0; b < 8; ++b) acc[r][i] = fmaf(w[r].v[b], e.v[b], acc[r][i]);
        }
      }
    }
  }
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int i = 0; i < M; ++i) sums[(r * M + i) * 33 + lane] = acc[r][i];
  }
  warp_barrier();
  if (lane < R * M) {
    store_sum<F>(a, place, place.first_row + lane % M, first + lane / M,
                 sum_in_order(sums + lane * 33));
  }
}

constexpr int kFmaWarps = 4, kFmaColumns = 2, kFmaRows = 4;

#define PIPPIN_DOT_FMA(name, form, groups)                  \
  DEVICE void dot_##name##_one_body(const DotArgs& a) {     \
    dot_fma<MatrixForm::form, kFmaColumns, 1, groups>(a);   \
  }                                                         \
  DEVICE void dot_##name##_body(const DotArgs& a) {         \
    dot_fma<MatrixForm::form, kFmaColumns, kFmaRows, 1>(a); \
  }
PIPPIN_DOT_FMA(f32, F32, 2)
PIPPIN_DOT_FMA(f16, F16, 4)
PIPPIN_DOT_FMA(bf16, BF16, 4)
PIPPIN_DOT_FMA(int4, Int4, 4)
PIPPIN_DOT_FMA(int8, Int8, 2)
PIPPIN_DOT_FMA(palette4, Palette4, 4)
PIPPIN_DOT_FMA(palette8, Palette8, 4)
PIPPIN_DOT_FMA(e4m7, E4M7, 4)
#undef PIPPIN_DOT_FMA

}  // namespace pippin::cuda
