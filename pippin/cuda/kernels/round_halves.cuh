// Rows of x as two numbers of 16 bits each, for tensor cores: a power of two as the scale of each
// span of 64 columns, so that the largest magnitude is in [1, 2), then x / scale = high + low, both
// fp16 or bf16. fp16 keeps 22 bits of the largest numbers of a span, bf16 16 bits of all. A span
// that contains an infinity or NaN gets the scale NaN.
//
//   a row   high[spans * 64] | low[spans * 64] | scales[spans], padded to 16 bytes
#pragma once

#include "pippin/cuda/kernels/normed_row.cuh"

namespace pippin::cuda {

DEVICE int64_t halves_row_bytes(int spans) {
  return int64_t{spans} * 256 + int64_t{(spans + 3) / 4} * 16;
}

struct HalvesRow {
  const uint4 *high, *low;  // of 8 columns
  const float* scales;

  HalvesRow() = default;
  DEVICE HalvesRow(const unsigned char* row, int spans)
      : high(reinterpret_cast<const uint4*>(row)),
        low(high + spans * 8),
        scales(reinterpret_cast<const float*>(low + spans * 8)) {}
};

template <MatrixForm F>
DEVICE uint16_t to_16_bits(float x) {
  return F == MatrixForm::BF16 ? float_to_bfloat(x) : float_to_half(x);
}
template <MatrixForm F>
DEVICE float from_16_bits(uint16_t bits) {
  return F == MatrixForm::BF16 ? bfloat_to_float(bits) : half_to_float(bits);
}

// Writes four columns of a span, which 16 lanes write together; all lanes of a warp must come.
template <MatrixForm F>
DEVICE void store_halves(unsigned char* row, int spans, int span, int part, const float (&v)[4]) {
  uint32_t largest = 0;
  UNROLL
  for (int i = 0; i < 4; ++i) largest = max(largest, float_to_bits(v[i]) & 0x7fffffffu);
  for (int mask = 1; mask < 16; mask <<= 1) largest = max(largest, across_lanes(largest, mask));
  if (span >= spans) return;
  const bool is_finite = largest < 0x7f800000u;
  // The scale and its inverse are numbers of fp32.
  const uint32_t exponent = min(max(largest >> 23, 27u), 253u);
  const float inverse = is_finite ? bits_to_float((254u - exponent) << 23) : 0.0f;
  uint32_t high[4], low[4];
  UNROLL
  for (int i = 0; i < 4; ++i) {
    const float x = is_finite ? v[i] * inverse : 0.0f;
    const uint16_t first = to_16_bits<F>(x);
    high[i] = first;
    low[i] = to_16_bits<F>(x - from_16_bits<F>(first));
  }
  auto* const to = reinterpret_cast<uint2*>(row) + span * 16 + part;
  to[0] = {high[0] | high[1] << 16, high[2] | high[3] << 16};
  to[spans * 16] = {low[0] | low[1] << 16, low[2] | low[3] << 16};
  if (part > 0) return;
  reinterpret_cast<float*>(row + spans * 256)[span] =
      is_finite ? bits_to_float(exponent << 23) : bits_to_float(0x7fc00000u);
}

// Writes spans [first, last) of a row of x, by the whole block.
template <MatrixForm F>
DEVICE void store_spans(const NormedRow& x, unsigned char* row, int first, int last, float factor) {
  const int spans = (x.k + 63) / 64, part = thread_index() & 15;
  for (int begin = first; begin < last; begin += block_threads() / 16) {
    const int span = begin + thread_index() / 16;
    float v[4];
    x.load(v, span * 64 + part * 4, factor);
    store_halves<F>(row, span < last ? spans : 0, span, part, v);
  }
}

// Blocks: parts of a row, then rows of all batches.
template <MatrixForm F>
DEVICE void round_halves(const RoundArgs& a, float* exchange) {
  const int spans = (a.k + 63) / 64, each = (spans + a.parts - 1) / a.parts;
  const int64_t all_row = static_cast<int64_t>(blockIdx.x) / a.parts;
  const int first = static_cast<int>(blockIdx.x) % a.parts * each;
  const float* const from = a.x + all_row / a.m * a.x_batch + all_row % a.m * a.x_stride;
  const NormedRow x{from, a.gamma, a.k, a.epsilon, a.has_aligned_x, a.has_norm};
  const float factor = x.factor(exchange);
  store_spans<F>(x, a.to + all_row * halves_row_bytes(spans), first, min(first + each, spans),
                 factor);
}
DEVICE void round_halves_body(const RoundArgs& a) {
  SHARED(shared);
  if (a.is_bf16) return round_halves<MatrixForm::BF16>(a, reinterpret_cast<float*>(shared));
  round_halves<MatrixForm::F16>(a, reinterpret_cast<float*>(shared));
}

}  // namespace pippin::cuda
