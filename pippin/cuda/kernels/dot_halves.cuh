// Products with fp16, bf16 and 12-bit matrices on tensor cores. Numbers of x become sums of two of
// 16 bits, so a product is two exact ones:
//
//   span of 64 columns:   d = W · high + W · low       fp32 sums of tensor cores
//   sum i = 0 ... 7:      sums[i] += d * scale(span)    of the spans p = i (mod 8), in their order
//   y = sums[0] + ... + sums[7]
//
// The same for any number of rows of x: here up to 8, whose sums i are those of warp i; in
// dot_halves_many.cuh more. Columns of a span are multiplied in the order in which they lie in
// memory: in each half of 32, lane t of four has 8 neighbours, 4 for each instruction.
#pragma once

#include "pippin/cuda/kernels/dot_prepared.cuh"
#include "pippin/cuda/kernels/round_halves.cuh"

namespace pippin::cuda {

template <MatrixForm F>
DEVICE void multiply_16_bits(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (F == MatrixForm::BF16) {
    multiply_bfloats(d, a, b);
  } else {
    multiply_halves(d, a, b);
  }
}

// d += 8 columns of each lane, of 16 rows of W (those of `low`, then those of `up`) by 8 of x.
template <MatrixForm F>
DEVICE void multiply_eight(float (&d)[4], const uint4& low, const uint4& up, const uint4& x_high,
                           const uint4& x_low) {
  const uint32_t first[4] = {low.x, up.x, low.y, up.y}, second[4] = {low.z, up.z, low.w, up.w};
  multiply_16_bits<F>(d, first, {x_high.x, x_high.y});
  multiply_16_bits<F>(d, first, {x_low.x, x_low.y});
  multiply_16_bits<F>(d, second, {x_high.z, x_high.w});
  multiply_16_bits<F>(d, second, {x_low.z, x_low.w});
}

// Eight neighbouring columns of a row of W, zeros behind its end. k is a multiple of 8.
template <MatrixForm F>
struct EightHalves {
  uint4 bits;

  DEVICE static EightHalves load(const unsigned char* row, int group, int k) {
    EightHalves e{{0, 0, 0, 0}};
    if (group * 8 >= k) return e;
    if constexpr (F == MatrixForm::E4M7) {
      const uint2 low = load_stream(reinterpret_cast<const uint2*>(row) + group);
      const uint32_t high =
          load_stream(reinterpret_cast<const uint32_t*>(row) + (k + 31) / 32 * 8 + group);
      e.bits = make_uint4(low.x, low.y, high, 0);
    } else {
      e.bits = load_stream(reinterpret_cast<const uint4*>(row) + group);
    }
    return e;
  }
  DEVICE uint4 halves() const {
    if constexpr (F == MatrixForm::E4M7) return e4m7_group({bits.x, bits.y}, bits.z);
    return bits;
  }
};

constexpr int kHalvesWarps = 8, kHalvesRows = 8;  // of a block; rows of x

// 16 rows of W by 8 of x; if results are gated, 8 rows of gate and 8 of up. `shared`: [8 warps][16
// rows of W][8 rows of x] sums, 32 floats of the norm, then the row if the block makes it.
template <MatrixForm F>
DEVICE void dot_halves(const PreparedDotArgs& prepared) {
  constexpr int kSpans = 2;  // of a warp at a time
  SHARED(shared);
  const DotArgs& a = prepared.dot;
  auto* const parts = reinterpret_cast<float*>(shared);
  float* const exchange = parts + kHalvesWarps * 128;
  const int lane = lane_index(), warp = warp_index(), g = lane >> 2, t = lane & 3;
  const int spans = (a.k + 63) / 64;
  const bool is_gated = prepared.gated != nullptr;
  if (a.pairs != nullptr) wait_for_previous();  // which of them there are
  const DotPlace place = dot_place(a, is_gated ? 8 : 16, kHalvesRows);
  if (place.is_nothing) return;
  DotPlace up_place = place;
  if (is_gated) {
    up_place.rows = a.products[1].rows;
    up_place.scales = a.products[1].scales;
    up_place.shifts = a.products[1].shifts;
    up_place.row_bytes = a.products[1].row_bytes;
  }
  const auto row_of = [&](const DotPlace& p, int column) {
    const int64_t j = min(p.first_column + column, p.n - 1);
    return p.rows + p.matrix * a.w_batch_bytes + j * p.row_bytes;
  };
  const unsigned char* const low_row = row_of(place, g);
  const unsigned char* const up_row = row_of(up_place, is_gated ? g : g + 8);
  EightHalves<F> low[kSpans][2], up[kSpans][2];
  const auto load = [&](int begin) {
    UNROLL
    for (int c = 0; c < kSpans; ++c) {
      const int span = min(begin + kHalvesWarps * c, spans - 1);
      UNROLL
      for (int half = 0; half < 2; ++half) {
        low[c][half] = EightHalves<F>::load(low_row, span * 8 + half * 4 + t, a.k);
        up[c][half] = EightHalves<F>::load(up_row, span * 8 + half * 4 + t, a.k);
      }
    }
  };
  load(warp);
  wait_for_previous();
  HalvesRow x, scales[2];
  float factor = 0;
  if (a.rounded == nullptr) {
    auto* const row = reinterpret_cast<unsigned char*>(exchange + 32);
    const NormedRow unrounded = normed_row(prepared);
    factor = unrounded.factor(exchange);
    store_spans<F>(unrounded, row, 0, spans, factor);
    barrier();
    x = scales[0] = scales[1] = HalvesRow(row, spans);
  } else {
    const auto rounded_row = [&](int i) {
      const int64_t j = place.x_row + min(i, a.m - 1 - place.first_row);
      return HalvesRow(a.rounded + j * halves_row_bytes(spans), spans);
    };
    x = rounded_row(g);
    scales[0] = rounded_row(2 * t);
    scales[1] = rounded_row(2 * t + 1);
  }
  float acc[4] = {0, 0, 0, 0};
  for (int begin = warp; begin < spans; begin += kHalvesWarps * kSpans) {
    if (begin != warp) load(begin);
    UNROLL
    for (int c = 0; c < kSpans; ++c) {
      const int span = begin + kHalvesWarps * c;
      if (span >= spans) break;
      float d[4] = {0, 0, 0, 0};
      UNROLL
      for (int half = 0; half < 2; ++half) {
        const int at = span * 8 + half * 4 + t;
        multiply_eight<F>(d, low[c][half].halves(), up[c][half].halves(), x.high[at], x.low[at]);
      }
      UNROLL
      for (int i = 0; i < 4; ++i) acc[i] = fmaf(d[i], scales[i % 2].scales[span], acc[i]);
    }
  }
  UNROLL
  for (int i = 0; i < 4; ++i) {
    parts[warp * 128 + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i];
  }
  barrier();
  // Neighbouring threads have neighbouring columns of y.
  const int columns = is_gated ? 8 : 16, row = thread_index() / columns;
  const int column = thread_index() % columns, i = place.first_row + row;
  const int j = place.first_column + column;
  if (row >= kHalvesRows || i >= a.m || j >= place.n) return;
  const auto sum_of = [&](int tile_row) {
    float sum = 0;
    UNROLL
    for (int w = 0; w < kHalvesWarps; ++w) sum += parts[w * 128 + tile_row * 8 + row];
    return sum;
  };
  const float* const stored = row_of_x(a, place, row);
  const auto x_at = [&](uint32_t at) {
    if (!prepared.has_norm) return stored[at];
    return stored[at] * factor * (prepared.gamma != nullptr ? prepared.gamma[at] : 1.0f);
  };
  const float sum = product_of<F>(place, j, sum_of(column), x_at);
  if (!is_gated) return store_dot(a, place, i, j, sum);
  store_gated(prepared, place, i, j, sum, product_of<F>(up_place, j, sum_of(column + 8), x_at));
}

DEVICE void dot_halves_f16_body(const PreparedDotArgs& a) {
  dot_halves<MatrixForm::F16>(a);
}
DEVICE void dot_halves_bf16_body(const PreparedDotArgs& a) {
  dot_halves<MatrixForm::BF16>(a);
}
DEVICE void dot_halves_e4m7_body(const PreparedDotArgs& a) {
  dot_halves<MatrixForm::E4M7>(a);
}

}  // namespace pippin::cuda
