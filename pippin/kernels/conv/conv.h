// Convolutions and pooling in fp32: results computed at every position from surrounding elements.
//
// A convolution is a product of its weights with the unfolded input (im2col). A piece that fits a
// cache is packed at a time:
//
//                 columns places          A tile keeps rows x columns sums in registers. For every
//                 ┌─────────┐             k it reads `columns` elements of the packed input and
//                 │ x       │ k           broadcasts `rows` weights.
//     rows        └─────────┘
//   w ┌───┬───┐   ┌─────────┐             k counts the taps of the kernel and, within a tap, the
//     │ k │ k │   │ y       │ m           channels: a piece of a packed row is a piece of a row of
//     └───┴───┘   └─────────┘             the input.
//
// With channels-last data nothing is packed: a tile keeps the sums of kConvPlaces positions and one
// panel of outputs, and reads x through a pointer per position and tap.
//
// In depthwise convolutions and in pooling, no input is used for several outputs: the window
// kernels add or compare shifted rows.
//
// For 3 x 3 weights at stride 1, Winograd's transformation needs a quarter of the products: the
// panels of x and of the weights are transformed, one pair for each of 36 products. The errors are
// about ten times those of direct sums, and an infinity or NaN affects all positions of a tile.
//
// Promise: an element of y has the same bits wherever its tile begins: its sum runs through k in
// order, with fused multiply-add except in the scalar kernels. Split long sums into several calls,
// whose results are added: rounding errors grow with the number of terms.
#pragma once

#include "pippin/kernels/conv/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<ConvKernels>> conv_kernels();

// Returns the first table that `cpu` can run.
const ConvKernels& choose_conv(const CpuFeatures& cpu);

// The number of elements in the panels of `outputs` outputs with sums of k products.
int64_t packed_conv_weights(const ConvKernels& kernels, int64_t outputs, int64_t k);

// Writes one output's weights [channels][taps] into the panels, which must be zeroed.
void pack_conv_weights(const ConvKernels& kernels, const float* w, int64_t channels, int64_t taps,
                       int64_t output, float* panels);

// The same two functions for `channels_last_tile`: panels of ConvKernels::outputs, each
// [taps][channels][outputs].
int64_t packed_channels_last_weights(const ConvKernels& kernels, int64_t outputs, int64_t k);
void pack_channels_last_weights(const ConvKernels& kernels, const float* w, int64_t channels,
                                int64_t taps, int64_t output, float* panels);

// Transforms one output's weights [channels][3][3] and writes them into the panels (for
// channels_last_tile) of the 36 products, one after another. The panels must be zeroed.
void pack_winograd_weights(const ConvKernels& kernels, const float* w, int64_t channels,
                           int64_t outputs, int64_t output, float* panels);

}  // namespace pippin::kernels
