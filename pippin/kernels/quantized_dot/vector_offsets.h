// The contribution of offsets to products with rows of W that have several blocks, over the vectors
// of the includer: a small product of its own, independent of the multiplication of codes,
//
//   y[i, j] -= sum over blocks b of offset[j, b] * scale[j, b] * block_sums[i, b]
//
// Terms are added in fp32; those of block b go to lane b % kLanes.
#pragma once

#include "pippin/kernels/quantized_dot/vector_blocks.h"
#include "pippin/kernels/quantized_dot/vector_order.h"

namespace pippin::kernels {
namespace {

// Reduces the lanes of each of kLanes rows of W.
PIPPIN_VEC F add_offset_lanes(F (&lanes)[kLanes]) {
  transpose(lanes);
  F classes[kClasses];
#pragma GCC unroll 4
  for (int c = 0; c < kClasses; ++c) {
    classes[c] = add_offset_sums(lanes[c], lanes[kClasses + c], lanes[2 * kClasses + c],
                                 lanes[3 * kClasses + c]);
  }
  return add_classes(classes);
}

// kLanes rows of W from row n on; rows beyond the end repeat the last.
struct OffsetRows {
  const QuantizedMatrix& w;
  int64_t first[kLanes];  // first block of each row

  PIPPIN_VEC OffsetRows(const QuantizedDotArgs& a, int64_t n) : w(*a.w) {
    for (int64_t r = 0; r < kLanes; ++r) first[r] = first_block(w, smaller_of(n + r, a.n_end - 1));
  }
  // Offsets of this type times their scales, for `count` blocks, at most kLanes; 0 in other lanes.
  template <OffsetType kType>
  PIPPIN_VEC F get(int64_t row, int64_t block, int64_t count) const {
    const int64_t at = first[row] + block;
    const F offsets = load_offsets(w, kType, at, count);
    return w.scaled_offsets ? offsets : offsets * load_stored(w.scales, w.scale_type, at, count);
  }
};

PIPPIN_VEC void subtract_from(float* y, int64_t count, F share) {
  if (count >= kLanes) return store(y, load(y) - share);
  store_part(y, load_part(y, count) - share, count);
}

template <OffsetType kType>
void subtract_from_row(const QuantizedDotArgs& a) {
  const int64_t blocks = a.w->blocks_per_row, whole = blocks / kLanes * kLanes;
  for (int64_t n = a.n_begin; n < a.n_end; n += kLanes) {
    const OffsetRows rows(a, n);
    F lanes[kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) lanes[r] = set(0);
    for (int64_t b = 0; b < whole; b += kLanes) {
      const F sums = load(a.x->block_sums + b);
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        lanes[r] = fma(rows.get<kType>(r, b, kLanes), sums, lanes[r]);
      }
    }
    if (whole < blocks) {
      const F sums = load(a.x->block_sums + whole);
      for (int r = 0; r < kLanes; ++r) {
        lanes[r] = fma(rows.get<kType>(r, whole, blocks - whole), sums, lanes[r]);
      }
    }
    subtract_from(a.y + n, a.n_end - n, add_offset_lanes(lanes));
  }
}

// Multiplies some rows of x with the scaled offsets of some blocks, which stay in the first-level
// cache.
template <OffsetType kType>
void subtract_from_rows(const QuantizedDotArgs& a) {
  constexpr int64_t kRows = 16, kBlocks = 64;
  const QuantizedRows& x = *a.x;
  const int64_t row_sums = x.padded / x.unit, blocks = a.w->blocks_per_row;
  for (int64_t i = 0; i < x.m; i += kRows) {
    const int64_t count = smaller_of(kRows, x.m - i);
    for (int64_t n = a.n_begin; n < a.n_end; n += kLanes) {
      const OffsetRows rows(a, n);
      F lanes[kRows][kLanes];
      for (int64_t m = 0; m < count; ++m) {
        for (int r = 0; r < kLanes; ++r) lanes[m][r] = set(0);
      }
      for (int64_t from = 0; from < blocks; from += kBlocks) {
        const int64_t to = smaller_of(from + kBlocks, blocks);
        F scaled[kBlocks / kLanes][kLanes];
        for (int64_t b = from; b < to; b += kLanes) {
          for (int r = 0; r < kLanes; ++r) {
            scaled[(b - from) / kLanes][r] = rows.get<kType>(r, b, smaller_of(kLanes, to - b));
          }
        }
        for (int64_t m = 0; m < count; ++m) {
          const float* sums = x.block_sums + (i + m) * row_sums;
          F of_row[kLanes];
#pragma GCC unroll 16
          for (int r = 0; r < kLanes; ++r) of_row[r] = lanes[m][r];
          for (int64_t b = from; b < to; b += kLanes) {
            const F of_x = load(sums + b);
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r) {
              of_row[r] = fma(scaled[(b - from) / kLanes][r], of_x, of_row[r]);
            }
          }
#pragma GCC unroll 16
          for (int r = 0; r < kLanes; ++r) lanes[m][r] = of_row[r];
        }
      }
      for (int64_t m = 0; m < count; ++m) {
        subtract_from(a.y + (i + m) * a.y_stride + n, a.n_end - n, add_offset_lanes(lanes[m]));
      }
    }
  }
}

template <OffsetType kType>
void subtract_offsets(const QuantizedDotArgs& a) {
  return a.x->m == 1 ? subtract_from_row<kType>(a) : subtract_from_rows<kType>(a);
}
void subtract_offsets(const QuantizedDotArgs& a) {
  switch (a.w->offset_type) {
    case OffsetType::None:
      return;
    case OffsetType::F32:
      return subtract_offsets<OffsetType::F32>(a);
    case OffsetType::F16:
      return subtract_offsets<OffsetType::F16>(a);
    case OffsetType::BF16:
      return subtract_offsets<OffsetType::BF16>(a);
    case OffsetType::I8:
      return subtract_offsets<OffsetType::I8>(a);
    case OffsetType::U8:
      return subtract_offsets<OffsetType::U8>(a);
    case OffsetType::I4:
      return subtract_offsets<OffsetType::I4>(a);
    case OffsetType::U4:
      return subtract_offsets<OffsetType::U4>(a);
  }
}

}  // namespace
}  // namespace pippin::kernels
