// Quantizes activations to 8 bits, over the vectors and products of the includer.
#pragma once

#include "pippin/kernels/quantized_dot/vector_blocks.h"

namespace pippin::kernels {
namespace {

// One unit of columns (QuantizedRows::behind); returns the sum of its values.
template <int64_t kUnit>
PIPPIN_VEC int32_t quantize_unit(const float* x, int64_t behind, int8_t* values, float* scale) {
  constexpr int kParts = kUnit / kLanes;
  const auto place = [behind](int part) __attribute__((always_inline)) {
    const int64_t column = part * kLanes;
    return column < 16 ? column : behind + column - 16;
  };
  F part[kParts];
  I largest = set_i(0);
#pragma GCC unroll 8
  for (int i = 0; i < kParts; ++i) {
    part[i] = load(x + place(i));
    largest = max(largest, bits(part[i]) & set_i(0x7fffffff));
  }
  const bool finite = !any(~(largest < set_i(0x7f800000)));
  const float most = finite ? max_lane(floats(largest)) : 0.0F;
  *scale = finite ? most / 127.0F : __builtin_nanf("");
  // Below this the inverse would overflow: the values become 0, and so do NaNs.
  const bool zero = most < 1e-36F;
  const F inverse = set(zero ? 0.0F : 127.0F / most);
  I total = set_i(0);
#pragma GCC unroll 8
  for (int i = 0; i < kParts; ++i) {
    const I value = zero ? set_i(0) : to_int(part[i] * inverse);
    store_low_bytes(reinterpret_cast<uint8_t*>(values + place(i)), value);
    total = total + value;
  }
  return static_cast<int32_t>(sum(to_float(total)));  // exact: less than 2^24
}

// Stores 128 values, from column j of row i on, interleaved with those of the paired row.
PIPPIN_VEC void store_in_turns(const int8_t* values, const QuantizedRows& to, int64_t i,
                               int64_t j) {
  int8_t* eights = to.values + i / 2 * 2 * to.padded + 2 * j + i % 2 * 8;
  for (int64_t c = 0; c < 128; c += 8) __builtin_memcpy(eights + 2 * c, values + c, 8);
}

// Computes the sums of blocks from those of a row's units.
PIPPIN_VEC void add_block_sums(const QuantizedRows& to, const float* sums, float* block_sums) {
  const int64_t units = to.padded / to.unit, ratio = to.block / to.unit;
  for (int64_t b = 0; b < units; ++b) {
    float sum = 0;
    const int64_t end = smaller_of((b + 1) * ratio, units);
    for (int64_t u = b * ratio; u < end; ++u) sum += sums[u * to.repeat];
    block_sums[b] = sum;
  }
}

// 128 columns at a time.
template <int64_t kUnit>
void quantize_row(const float* x, const QuantizedRows& to, int64_t i) {
  const int64_t units = to.padded / kUnit;
  const int64_t together = to.behind / 16;
  float* scales = to.scales + i * units * to.repeat;
  float* sums = to.sums + i * units * to.repeat;
  int32_t* starts = to.starts + i * units * to.repeat;
  float total = 0;
  for (int64_t j = 0; j < to.padded; j += 128) {
    float copy[128];
    alignas(64) int8_t natural[128], own[128];
    const bool in_turns = kRowPairs && to.row_pairs;
    int8_t* values = in_turns ? own : to.values + i * to.padded + j;
    const int64_t left = smaller_of(to.k - j, 128);
    const float* from = x + j;
    if (left < 128) {
      for (int64_t c = 0; c < 128; ++c) copy[c] = c < left ? from[c] : 0;
      from = copy;
    }
    for (int64_t u = 0; u < 128 / kUnit; ++u) {
      float scale;
      const int64_t place = kUnit == 16 ? u * 16 : u / together * 2 * to.behind + u % together * 16;
      const int32_t sum = quantize_unit<kUnit>(from + place, to.behind, natural + place, &scale);
      const float scaled = scale * static_cast<float>(sum);
      total += scaled;
      const int64_t first = (j / kUnit + u) * to.repeat;
      for (int64_t at = first; at < first + to.repeat; ++at) {
        scales[at] = scale;
        sums[at] = scaled;
        starts[at] = -to.center * sum;
      }
    }
    if (to.order == ValueOrder::Split) {
      for (int64_t c = 0; c < 64; ++c) {
        values[c] = natural[2 * c];
        values[64 + c] = natural[2 * c + 1];
      }
    } else {
      __builtin_memcpy(values, natural, sizeof(natural));
    }
    if (in_turns) store_in_turns(own, to, i, j);
  }
  if (to.block > 0) add_block_sums(to, sums, to.block_sums + i * units);
  to.totals[i] = total;
}

void quantize(const float* x, int64_t x_stride, int64_t begin, int64_t end,
              const QuantizedRows& to) noexcept {
  for (int64_t i = begin; i < end; ++i) {
    if (to.unit == 16) {
      quantize_row<16>(x + i * x_stride, to, i);
    } else {
      quantize_row<32>(x + i * x_stride, to, i);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
