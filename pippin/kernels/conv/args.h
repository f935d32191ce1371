// The arguments of conv.h and the tables of kernels.inc. Included by files that are compiled for
// one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// y[m, n] = bias[m] + w[m, k] · x[k, n], or y += w · x. Strides are in elements.
struct ConvTileArgs {
  // In panels of ConvKernels::rows outputs, each [k][rows]; of a last panel all rows can be read.
  const float* w;
  int64_t w_stride;  // from one panel to the next
  const float* x;    // [k][columns]: all columns can be read
  int64_t x_stride;
  const float* bias;  // [m], or null for zeros
  bool add;           // to what y holds, without the bias
  float* y;
  int64_t y_stride;
  int64_t m, n, k;  // n is at most ConvKernels::columns
  // Of `tile_pairs`: [m], or null while there is more to add.
  const float* scales = nullptr;
};

// For each channel: `before` times `fill`, x[0], x[x_step], ... `count` of them, `after` times
// `fill`.
struct ConvPackArgs {
  const float* x;            // may be null where count is 0
  int64_t x_step, x_stride;  // between elements; between channels
  float* y;
  int64_t y_stride;
  int64_t channels;
  int64_t before, count, after;
  float fill;
};

// y[i] = start + sum over t of w[t] * x[offsets[t] + i], or the largest of start and these x.
struct ConvWindowArgs {
  const float* x;
  const int64_t* offsets;
  const float* w;
  int64_t taps;
  float start;
  float* y;
  int64_t n;
};

// Places of a tile of `places_tile`, `channels_sum` and `channels_max`.
constexpr int64_t kConvPlaces = 6;

// What is stored is made min(max(sum, least), most); NaN stays.
struct ConvBounds {
  float least = -__builtin_inff(), most = __builtin_inff();
};

// Channels side by side at each place of x and y: y[i][n] = bias[n] + sum over taps t and channels
// k of x[t][i][k] * w[t][k][n], or y += that sum.
struct ConvPlacesArgs {
  // [taps][kConvPlaces] of each tile: the first channel of what a tap sees from a place; all can be
  // read, also of places from `places` on. Or with an x_step [taps]: what is seen from place 0,
  // and from place i x_step * i elements behind.
  const float* const* x;
  int64_t x_stride;  // from one tile to the next; not read with an x_step
  int64_t first;     // channel: elements that are added to all pointers
  int64_t taps, channels;
  // A panel [taps][channels][ConvKernels::outputs], whose columns can all be read.
  const float* w;
  int64_t w_stride;   // from one tap to the next
  const float* bias;  // [n], or null for zeros
  bool add;           // to what y holds, without the bias
  float* y;
  int64_t y_stride;   // from one place to the next
  int64_t places, n;  // n is at most ConvKernels::outputs
  int64_t x_step = 0;
  ConvBounds bounds = {};
};

// The same where each channel has weights of its own: y[i][n] = bias[n] + sum over t of x[t][i][n]
// * w[t][n], or the largest of these x.
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
  // Of an x_step: so many taps at a time, one of [taps / together], see at a place what the one
  // before sees at the next: x[t + 1] is x[t] + x_step.
  int64_t together = 1;
  ConvBounds bounds = {};  // of `channels_sum`
};

// Winograd's F(4 x 4, 3 x 3) (Lavin and Gray, "Fast algorithms for convolutional neural networks"):
// a tile of 4 x 4 sums of 3 x 3 products each takes 36 products instead of 144, of its 6 x 6
// elements and the weights both transformed.
constexpr int64_t kWinogradSide = 4, kWinogradReach = 6;
constexpr int64_t kWinogradProducts = kWinogradReach * kWinogradReach;

// Of the channels of kConvPlaces tiles.
struct WinogradInArgs {
  const float* const* x;  // [36][kConvPlaces]: the first channel of each element of each tile
  int64_t tiles;          // at most kConvPlaces
  int64_t channels;
  float* y;  // [36][tiles][channels]
  int64_t y_stride, tile_stride;
};

// Of the outputs of one tile.
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
  int64_t rows, columns;  // of the panels that `tile` takes
  int64_t outputs;        // of the panels that `places_tile` takes

  void (*tile)(const ConvTileArgs& args) noexcept;
  // The same where every element of w and x holds two integers of 16 bits, of neighbouring k. Their
  // products are added up exactly: y holds sums of 32 bits, which may not overflow, until there are
  // scales: then it becomes scales[m] * sum + bias[m].
  void (*tile_pairs)(const ConvTileArgs& args) noexcept;
  void (*pack)(const ConvPackArgs& args) noexcept;
  void (*window_sum)(const ConvWindowArgs& args) noexcept;
  // NaN if any x is; w is not read.
  void (*window_max)(const ConvWindowArgs& args) noexcept;
  void (*places_tile)(const ConvPlacesArgs& args) noexcept;
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
