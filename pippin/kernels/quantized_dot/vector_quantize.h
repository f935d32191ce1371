// Activations in 8 bits, over the vectors of the includer.
#pragma once

#include "pippin/kernels/quantized_dot/vector_blocks.h"

namespace pippin::kernels {
namespace {

// One unit of kUnit columns; returns the sum of its values.
template <int64_t kUnit>
PIPPIN_VEC int32_t quantize_unit(const float* x, int32_t* values, float* scale) {
  F part[kUnit / kLanes];
  I largest = set_i(0);
#pragma GCC unroll 8
  for (int i = 0; i < kUnit / kLanes; ++i) {
    part[i] = load(x + i * kLanes);
    largest = max(largest, bits(part[i]) & set_i(0x7fffffff));
  }
  int32_t lanes[kLanes];
  store_i(lanes, largest);
  int32_t most_bits = 0;
  for (int i = 0; i < kLanes; ++i) most_bits = lanes[i] > most_bits ? lanes[i] : most_bits;
  const bool finite = most_bits < 0x7f800000;
  float most;
  __builtin_memcpy(&most, &most_bits, sizeof(most));
  *scale = finite ? most / 127.0F : __builtin_nanf("");
  // Below this the inverse would overflow: the values count as 0, as those of no number do.
  const bool zero = !finite || most < 1e-36F;
  const F inverse = set(zero ? 0.0F : 127.0F / most);
  I total = set_i(0);
#pragma GCC unroll 8
  for (int i = 0; i < kUnit / kLanes; ++i) {
    const I value = zero ? set_i(0) : to_int(part[i] * inverse);
    store_i(values + i * kLanes, value);
    total = total + value;
  }
  store_i(lanes, total);
  int32_t sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

// 128 values from place j of row i on, in turns with those of the row beside it.
PIPPIN_VEC void store_in_turns(const int8_t* values, const QuantizedRows& to, int64_t i,
                               int64_t j) {
  int8_t* eights = to.values + i / 2 * 2 * to.padded + 2 * j + i % 2 * 8;
  for (int64_t c = 0; c < 128; c += 8) __builtin_memcpy(eights + 2 * c, values + c, 8);
}

// 128 columns at a time, as ValueOrder::Split has them.
template <int64_t kUnit>
void quantize_row(const float* x, const QuantizedRows& to, int64_t i) {
  float* scales = to.scales + i * (to.padded / kUnit);
  float* sums = to.sums + i * (to.padded / kUnit);
  int32_t* starts = to.starts + i * (to.padded / to.group);
  for (int64_t j = 0; j < to.padded; j += 128) {
    float copy[128];
    int32_t natural[128], unit_sums[128 / kUnit];
    int8_t own[128];
    const bool in_turns = kRowPairs && to.row_pairs;
    int8_t* values = in_turns ? own : to.values + i * to.padded + j;
    const int64_t left = smaller_of(to.k - j, 128);
    const float* from = x + j;
    if (left < 128) {
      for (int64_t c = 0; c < 128; ++c) copy[c] = c < left ? from[c] : 0;
      from = copy;
    }
    for (int64_t u = 0; u < 128 / kUnit; ++u) {
      unit_sums[u] =
          quantize_unit<kUnit>(from + u * kUnit, natural + u * kUnit, scales + j / kUnit + u);
      sums[j / kUnit + u] = scales[j / kUnit + u] * static_cast<float>(unit_sums[u]);
    }
    if (to.order == ValueOrder::Split) {
      for (int64_t c = 0; c < 64; ++c) {
        values[c] = static_cast<int8_t>(natural[2 * c]);
        values[64 + c] = static_cast<int8_t>(natural[2 * c + 1]);
      }
    } else {
      for (int64_t c = 0; c < 128; ++c) values[c] = static_cast<int8_t>(natural[c]);
    }
    if (in_turns) store_in_turns(own, to, i, j);
    if (to.group == kUnit) {
      for (int64_t u = 0; u < 128 / kUnit; ++u) starts[j / kUnit + u] = -to.center * unit_sums[u];
    } else if (to.group == 8) {
      for (int64_t g = 0; g < 16; ++g) {
        int32_t sum = 0;
        for (int64_t c = 0; c < 8; ++c) sum += natural[8 * g + c];
        starts[j / 8 + g] = -to.center * sum;
      }
    } else {
      for (int64_t g = 0; g < 32; ++g) {
        int32_t sum = 0;
        for (int64_t c = 0; c < 4; ++c) sum += natural[4 * g + c];
        starts[j / 4 + g] = -to.center * sum;
      }
    }
  }
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
