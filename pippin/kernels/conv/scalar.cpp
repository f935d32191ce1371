// conv.h in plain C++: the reference for the other kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pippin/kernels/conv/conv.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kRows = 4, kColumns = 8, kOutputs = 4;
// Adds many taps in parts, which keeps digits that one long sum loses.
constexpr int64_t kTaps = 16;

void tile(const ConvTileArgs& a) noexcept {
  for (int64_t i = 0; i < a.m; ++i) {
    const float* w = a.k > 0 ? a.w + i / kRows * a.w_stride + i % kRows : nullptr;
    float* y = a.y + i * a.y_stride;
    float sums[kColumns] = {};
    for (int64_t j = 0; j < a.n; ++j) {
      sums[j] = !a.add && a.bias != nullptr ? a.bias[i] : 0.0F;
    }
    for (int64_t k = 0; k < a.k; ++k) {
      for (int64_t j = 0; j < a.n; ++j) sums[j] += w[k * kRows] * a.x[k * a.x_stride + j];
    }
    for (int64_t j = 0; j < a.n; ++j) y[j] = a.add ? y[j] + sums[j] : sums[j];
  }
}

// The two integers in an element.
struct Pair {
  explicit Pair(float element) {
    uint32_t bits;
    std::memcpy(&bits, &element, sizeof(bits));
    low = static_cast<int16_t>(bits & 0xffff);
    high = static_cast<int16_t>(bits >> 16);
  }
  int32_t low, high;
};

void tile_pairs(const ConvTileArgs& a) noexcept {
  for (int64_t i = 0; i < a.m; ++i) {
    for (int64_t j = 0; j < a.n; ++j) {
      float* y = a.y + i * a.y_stride + j;
      int32_t sum = 0;
      if (a.add) std::memcpy(&sum, y, sizeof(sum));
      for (int64_t k = 0; k < a.k; ++k) {
        const Pair w(a.w[i / kRows * a.w_stride + k * kRows + i % kRows]),
            x(a.x[k * a.x_stride + j]);
        sum += w.low * x.low + w.high * x.high;
      }
      if (a.scales == nullptr) {
        std::memcpy(y, &sum, sizeof(sum));
      } else {
        *y = std::fma(static_cast<float>(sum), a.scales[i], a.bias != nullptr ? a.bias[i] : 0.0F);
      }
    }
  }
}

void pack(const ConvPackArgs& a) noexcept {
  for (int64_t c = 0; c < a.channels; ++c) {
    const float* x = a.count > 0 ? a.x + c * a.x_stride : nullptr;
    float* y = std::fill_n(a.y + c * a.y_stride, a.before, a.fill);
    for (int64_t i = 0; i < a.count; ++i) y[i] = x[i * a.x_step];
    std::fill_n(y + a.count, a.after, a.fill);
  }
}

void window_sum(const ConvWindowArgs& a) noexcept {
  for (int64_t i = 0; i < a.n; ++i) {
    float sum = a.start;
    for (int64_t begin = 0; begin < a.taps; begin += kTaps) {
      float part = 0;
      for (int64_t t = begin; t < std::min(a.taps, begin + kTaps); ++t) {
        part += a.w[t] * a.x[a.offsets[t] + i];
      }
      sum += part;
    }
    a.y[i] = sum;
  }
}

void window_max(const ConvWindowArgs& a) noexcept {
  for (int64_t i = 0; i < a.n; ++i) {
    float largest = a.start;
    for (int64_t t = 0; t < a.taps; ++t) {
      const float value = a.x[a.offsets[t] + i];
      if (std::isnan(value) || value > largest) largest = value;
    }
    a.y[i] = largest;
  }
}

float between(const ConvBounds& bounds, float x) {
  return x < bounds.least ? bounds.least : x > bounds.most ? bounds.most : x;
}

// Pointer to the first channel that a tap reads at a position.
template <typename Args>
const float* seen(const Args& a, int64_t tap, int64_t place) {
  if (a.x_step > 0) return a.x[tap] + place * a.x_step;
  return a.x[place / kConvPlaces * a.x_stride + tap * kConvPlaces + place % kConvPlaces];
}

void channels_last_tile(const ChannelsLastConvArgs& a) noexcept {
  for (int64_t i = 0; i < a.places; ++i) {
    for (int64_t n = 0; n < a.n; ++n) {
      float sum = !a.add && a.bias != nullptr ? a.bias[n] : 0;
      for (int64_t tap = 0; tap < a.taps; ++tap) {
        const float* x = seen(a, tap, i) + a.first;
        const float* w = a.w + tap * a.w_stride + n;
        for (int64_t k = 0; k < a.channels; ++k) sum += x[k] * w[k * kOutputs];
      }
      float& y = a.y[i * a.y_stride + n];
      y = between(a.bounds, a.add ? y + sum : sum);
    }
  }
}

void channels_sum(const ConvChannelsArgs& a) noexcept {
  for (int64_t i = 0; i < a.places; ++i) {
    for (int64_t n = 0; n < a.n; ++n) {
      float sum = a.bias != nullptr ? a.bias[n] : 0;
      for (int64_t begin = 0; begin < a.taps; begin += kTaps) {
        float part = 0;
        for (int64_t tap = begin; tap < std::min(a.taps, begin + kTaps); ++tap) {
          const float x = seen(a, tap, i)[a.first + n];
          part += a.w != nullptr ? x * a.w[tap * a.w_stride + n] : x;
        }
        sum += part;
      }
      a.y[i * a.y_stride + n] = between(a.bounds, sum);
    }
  }
}

void channels_max(const ConvChannelsArgs& a) noexcept {
  for (int64_t i = 0; i < a.places; ++i) {
    for (int64_t n = 0; n < a.n; ++n) {
      float largest = -std::numeric_limits<float>::infinity();
      for (int64_t tap = 0; tap < a.taps; ++tap) {
        const float x = seen(a, tap, i)[a.first + n];
        if (std::isnan(x) || x > largest) largest = x;
      }
      a.y[i * a.y_stride + n] = largest;
    }
  }
}

// The rows of both matrices as sums of products; args.h.
constexpr float kIn[kWinogradReach][kWinogradReach] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                                       {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                                       {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
constexpr float kOut[kWinogradSide][kWinogradReach] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

void winograd_in(const WinogradInArgs& a) noexcept {
  for (int64_t t = 0; t < a.tiles; ++t) {
    for (int64_t i = 0; i < kWinogradProducts; ++i) {
      for (int64_t channel = 0; channel < a.channels; ++channel) {
        float sum = 0;
        for (int64_t r = 0; r < kWinogradReach; ++r) {
          float row = 0;
          for (int64_t c = 0; c < kWinogradReach; ++c) {
            row += kIn[i % kWinogradReach][c] *
                   a.x[(r * kWinogradReach + c) * kConvPlaces + t][channel];
          }
          sum += kIn[i / kWinogradReach][r] * row;
        }
        a.y[i * a.y_stride + t * a.tile_stride + channel] = sum;
      }
    }
  }
}

void winograd_out(const WinogradOutArgs& a) noexcept {
  for (int64_t i = 0; i < a.rows * a.columns; ++i) {
    const int64_t h = i / a.columns, w = i % a.columns;
    for (int64_t n = 0; n < a.outputs; ++n) {
      float sum = a.bias != nullptr ? a.bias[n] : 0;
      for (int64_t r = 0; r < kWinogradReach; ++r) {
        float row = 0;
        for (int64_t c = 0; c < kWinogradReach; ++c) {
          row += kOut[w][c] * a.x[(r * kWinogradReach + c) * a.x_stride + n];
        }
        sum += kOut[h][r] * row;
      }
      a.y[h * a.row_stride + w * a.column_stride + n] = sum;
    }
  }
}

}  // namespace

const ConvKernels conv_scalar = {
    "conv_scalar", kRows,        kColumns,    kOutputs,    tile,
    tile_pairs,    pack,         window_sum,  window_max,  channels_last_tile,
    channels_sum,  channels_max, winograd_in, winograd_out};

}  // namespace pippin::kernels
