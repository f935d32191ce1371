// The reference: computes every element by the formula.
#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/affine_dot/affine_dot.h"

namespace pippin::kernels {
namespace {

float number(const void* values, WeightType type, int64_t i) {
  if (type == WeightType::F32) return static_cast<const float*>(values)[i];
  const uint16_t bits = static_cast<const uint16_t*>(values)[i];
  return type == WeightType::F16 ? to_float(float16{bits}) : to_float(bfloat16{bits});
}

void expand(const AffineMatrix& w, int64_t j, int64_t begin, int64_t end, float* y) noexcept {
  const uint8_t* row = w.codes + j * w.k * w.bits / 8;
  const int64_t groups = w.k / w.group;
  const uint32_t mask = (1u << w.bits) - 1;
  for (int64_t column = begin; column < end;) {
    const int64_t g = column / w.group,
                  group_end = (g + 1) * w.group < end ? (g + 1) * w.group : end;
    const float scale = number(w.scales, w.type, j * groups + g);
    const float bias = number(w.biases, w.type, j * groups + g);
    if (w.bits == 8) {
      for (; column < group_end; ++column) {
        y[column - begin] = scale * static_cast<float>(row[column]) + bias;
      }
    } else if (w.bits == 4) {
      for (; column < group_end; ++column) {
        const int code = (row[column / 2] >> (column % 2 * 4)) & 15;
        y[column - begin] = scale * static_cast<float>(code) + bias;
      }
    } else {
      for (; column < group_end; ++column) {  // codes may span two bytes
        const int64_t bit = column * w.bits;
        uint32_t word = row[bit / 8];
        if (bit % 8 + w.bits > 8) word |= uint32_t{row[bit / 8 + 1]} << 8;
        const uint32_t code = (word >> (bit % 8)) & mask;
        y[column - begin] = scale * static_cast<float>(code) + bias;
      }
    }
  }
}

void dot(const AffineDotArgs& args) noexcept {
  const AffineMatrix& w = *args.w;
  const AffineRows& x = *args.x;
  for (int64_t i = 0; i < x.m; ++i) {
    const float* row = x.values + i * x.padded;
    for (int64_t j = args.n_begin; j < args.n_end; ++j) {
      float total = 0;
      float expanded[256];
      for (int64_t begin = 0; begin < w.k; begin += 256) {
        const int64_t end = begin + 256 < w.k ? begin + 256 : w.k;
        expand(w, j, begin, end, expanded);
        for (int64_t c = begin; c < end; ++c) total += row[c] * expanded[c - begin];
      }
      args.y[i * args.y_stride + j] = total;
    }
  }
}

}  // namespace

const AffineDotKernels affine_dot_scalar = {"affine_dot_scalar", dot, expand, 0, nullptr};

}  // namespace pippin::kernels
