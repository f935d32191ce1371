// The inner loops of linear quantization with AVX2 and FMA. Plain types only: see cmake/isa.cmake.
#pragma once

#include <cstddef>

namespace pippin::compress {

// Sums over the elements, p being the rounded and clamped value / scale: of x*p, p*p, p and
// (x - p*scale)^2, each times its weight.
struct LinearSums {
  double xp, pp, p, error;
};

// `count` is a multiple of 8; `weights` is null where all are 1.
void avx2_measure_linear(const float* values, const float* weights, size_t count, float scale,
                         float low, float high, LinearSums* sums) noexcept;

// codes[i] = the low byte of p + offset.
void avx2_encode_linear(const float* values, size_t count, float scale, float low, float high,
                        int offset, unsigned char* codes) noexcept;

}  // namespace pippin::compress
