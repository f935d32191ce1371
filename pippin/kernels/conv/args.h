// The arguments of conv.h and the tables of kernels.inc. Included by files that are compiled for
// one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// y[m, n] = bias[m] + w[m, k] · x[k, n], or y += w · x. Strides are in elements.
struct ConvTileArgs {
  // Panels of ConvKernels::rows outputs, each [k][rows]; all rows of the last panel are readable.
  const float* w;
  int64_t w_stride;  // between panels
  const float* x;    // [k][columns]; all columns are readable
  int64_t x_stride;
  const float* bias;  // [m], or null for zeros
  bool add;           // adds to y, without the bias
  float* y;
  int64_t y_stride;
  int64_t m, n, k;  // n is at most ConvKernels::columns
  // For `tile_pairs`: [m], or null while there are more products to add.
  const float* scales = nullptr;
};

// For each channel, stores `before` times `fill`, then `count` elements x[0], x[x_step], ..., then
// `after` times `fill`.
struct ConvPackArgs {
  const float* x;            // may be null if count is 0
  int64_t x_step, x_stride;  // between elements; between channels
  float* y;
  int64_t y_stride;
  int64_t channels;
  int64_t before, count, after;
  float fill;
};

// y[i] = start + sum over t of w[t] * x[offsets[t] + i], or the maximum of start and these x.
struct ConvWindowArgs {
  const float* x;
  const int64_t* offsets;
  const float* w;
  int64_t taps;
  float start;
  float* y;
  int64_t n;
};

// Positions in a tile of `channels_last_tile`, `channels_sum` and `channels_max`.
constexpr int64_t kConvPlaces = 6;

// Stored values are min(max(sum, least), most); NaN stays.
struct ConvBounds {
  float least = -__builtin_inff(), most = __builtin_inff();
};

// Channels-last convolution: y[i][n] = bias[n] + sum over taps t and channels k of x[t][i][k] *
// w[t][k][n], or y += that sum.
struct ChannelsLastConvArgs {
  // [taps][kConvPlaces] per tile: pointers to the first channel that a tap reads for a position;
  // all are readable, also those from `places` on. With an x_step [taps]: pointers for position 0;
  // position i reads x_step * i elements further.
  const float* const* x;
  int64_t x_stride;  // between tiles; not read with an x_step
  int64_t first;     // channel: number of elements added to all pointers
  int64_t taps, channels;
  // A panel [taps][channels][ConvKernels::outputs]; all its columns are readable.
  const float* w;
  int64_t w_stride;   // between taps
  const float* bias;  // [n], or null for zeros
  bool add;           // adds to y, without the bias
  float* y;
  int64_t y_stride;   // between positions
  int64_t places, n;  // n is at most ConvKernels::outputs
  int64_t x_step = 0;
  ConvBounds bounds = {};
};

// The same for a depthwise convolution: y[i][n] = bias[n] + sum over t of x[t][i][n] * w[t][n], or
// the maximum of these x.
struct ConvChannelsArgs {
  const float* const* x;  // as above
  int64_t x_stride;
  int64_t first;
  int64_t taps;
  const float* w;  // [taps][n], or null for ones
  int64_t w_stride;
  const float* bias;  // [n], or null for zeros
  float* y;
  int64_t y_stride;
  int64_t places, n;
  int64_t x_step = 0;
  // With an x_step: in each group of this many taps, a tap reads at one position what the previous
  // tap reads at the next, and x[t + 1] is x[t] + x_step. There are [taps / together] groups.
  int64_t together = 1;
  ConvBounds bounds = {};  // for `channels_sum`
};

// Winograd's F(4 x 4, 3 x 3) (Lavin and Gray, "Fast algorithms for convolutional neural networks"):
// a tile of 4 x 4 sums of 3 x 3 products needs 36 products instead of 144, computed from its 6 x 6
// elements and the weights, both transformed.
constexpr int64_t kWinogradSide = 4, kWinogradReach = 6;
constexpr int64_t kWinogradProducts = kWinogradReach * kWinogradReach;

// Arguments for the channels of kConvPlaces tiles.
struct WinogradInArgs {
  const float* const* x;  // [36][kConvPlaces]: the first channel of each element of each tile
  int64_t tiles;          // at most kConvPlaces
  int64_t channels;
  float* y;  // [36][tiles][channels]
  int64_t y_stride, tile_stride;
};

// Arguments for the outputs of one tile.
struct WinogradOutArgs {
  const float* x;  // [36][outputs]
  int64_t x_stride;
  const float* bias;  // [outputs], or null for zeros
  int64_t outputs;
  float* y;  // [rows][columns][outputs]
  int64_t row_stride, column_stride;
  int64_t rows, columns;  // at most 4
};

struct ConvKernels {
  const char* name;
  int64_t rows, columns;  // size of `tile`'s panels
  int64_t outputs;        // width of `channels_last_tile`'s panels

  void (*tile)(const ConvTileArgs& args) noexcept;
  // The same if every element of w and x holds two 16-bit integers, of neighbouring k. Their
  // products are added exactly: y holds 32-bit sums, which must not overflow. With scales, y
  // becomes scales[m] * sum + bias[m].
  void (*tile_pairs)(const ConvTileArgs& args) noexcept;
  void (*pack)(const ConvPackArgs& args) noexcept;
  void (*window_sum)(const ConvWindowArgs& args) noexcept;
  // NaN if any x is; w is not read.
  void (*window_max)(const ConvWindowArgs& args) noexcept;
  void (*channels_last_tile)(const ChannelsLastConvArgs& args) noexcept;
  void (*channels_sum)(const ConvChannelsArgs& args) noexcept;
  // NaN if any x is, -inf without taps; w and bias are not read.
  void (*channels_max)(const ConvChannelsArgs& args) noexcept;
  void (*winograd_in)(const WinogradInArgs& args) noexcept;
  void (*winograd_out)(const WinogradOutArgs& args) noexcept;
};

#define PIPPIN_CONV(flag, name) extern const ConvKernels name;
#include "pippin/kernels/conv/kernels.inc"
#undef PIPPIN_CONV

}  // namespace pippin::kernels
