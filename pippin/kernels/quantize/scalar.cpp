#include <algorithm>
#include <cmath>

#include "pippin/kernels/quantize/args.h"

namespace pippin::kernels {
namespace {

// Adding and subtracting it rounds a float of magnitude below 2^22 to the nearest integer.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
// Independent float sums, one per lane, which the compiler vectorizes.
constexpr int64_t kLanes = 8;
constexpr int64_t kFlush = 1024;

float nearest(float x, float inverse, const LinearRounding& to) {
  float p = x * inverse;
  p = p < to.low ? to.low : p;
  p = p > to.high ? to.high : p;
  return (p + kRound) - kRound;
}

struct Lanes {
  float values[kLanes] = {};
  double total() const {
    double sum = 0;
    for (const float value : values) sum += double{value};
    return sum;
  }
};

void measure(const float* x, const float* weights, int64_t count, const LinearRounding& rounding,
             LinearSums* sums) noexcept {
  const float inverse = 1 / rounding.scale;
  *sums = {};
  for (int64_t begin = 0; begin < count; begin += kFlush) {
    const int64_t end = std::min(count, begin + kFlush);
    Lanes xp, pp, ps, error;
    for (int64_t i = begin; i < end; i += kLanes) {
      for (int64_t lane = 0; lane < std::min(kLanes, end - i); ++lane) {
        const float value = x[i + lane];
        const float weight = weights == nullptr ? 1.0f : weights[i + lane];
        const float p = nearest(value, inverse, rounding);
        const float difference = value - p * rounding.scale;
        xp.values[lane] += value * (p * weight);
        pp.values[lane] += p * (p * weight);
        ps.values[lane] += p * weight;
        error.values[lane] += difference * (difference * weight);
      }
    }
    sums->xp += xp.total();
    sums->pp += pp.total();
    sums->p += ps.total();
    sums->error += error.total();
  }
}

void encode(const float* x, int64_t count, const LinearRounding& rounding, int offset,
            uint8_t* codes) noexcept {
  const float inverse = 1 / rounding.scale;
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = static_cast<uint8_t>(static_cast<int>(nearest(x[i], inverse, rounding)) + offset);
  }
}

void pack4(const float* x, int64_t count, int64_t size, const LinearLevels& levels,
           const float* scales, const float* offsets, uint8_t* out, BlockSums* sums) noexcept {
  for (int64_t block = 0; block < count; ++block, x += size) {
    const LinearRounding rounding = {scales[block], levels.lowest - offsets[block],
                                     levels.highest - offsets[block]};
    for (int64_t i = 0; i < size; i += 2) {
      uint8_t codes[2];
      encode(x + i, 2, rounding, static_cast<int>(offsets[block]), codes);
      *out++ = static_cast<uint8_t>((codes[0] & 15) | codes[1] << 4);
    }
    LinearSums measured;
    measure(x, nullptr, size, rounding, &measured);
    sums->error += measured.error;
    for (int64_t i = 0; i < size; ++i) sums->energy += double{x[i]} * double{x[i]};
  }
}

void add_products(const float* factors, const float* rows, int64_t stride, int64_t num_rows,
                  int64_t count, float* sums) noexcept {
  for (int64_t row = 0; row < num_rows; ++row) {
    const float factor = factors[row];
    const float* from = rows + row * stride;
    for (int64_t j = 0; j < count; ++j) sums[j] += factor * from[j];
  }
}

}  // namespace

const QuantizeKernels quantize_scalar = {.name = "quantize_scalar",
                                         .measure = measure,
                                         .encode = encode,
                                         .choose_scales = nullptr,
                                         .pack4 = pack4,
                                         .add_products = add_products};

}  // namespace pippin::kernels
