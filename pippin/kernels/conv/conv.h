// Convolutions and pooling in fp32: what is computed at every place from the elements around it.
//
// A convolution is a product of its weights with the unfolded input (im2col), of which a piece that
// fits a cache is packed at a time:
//
//                 columns places          A tile keeps rows x columns sums in registers. For every
//                 ┌─────────┐             k it reads `columns` elements of the packed input and
//                 │ x       │ k           broadcasts `rows` weights.
//     rows        └─────────┘
//   w ┌───┬───┐   ┌─────────┐             k counts the taps of the kernel and, within a tap, the
//     │ k │ k │   │ y       │ m           channels: a piece of a packed row is a piece of a row of
//     └───┴───┘   └─────────┘             the input.
//
// Where the channels of a place lie side by side, nothing is packed: a tile keeps the sums of
// kConvPlaces places and one panel of outputs, and reads x by a pointer for each place and tap.
//
// Where each channel has weights of its own (depthwise) and in pooling there is nothing to multiply
// with the same input twice: the window kernels add or compare shifted rows.
//
// Of 3 x 3 weights at every place, sums can also be had by a quarter of the products (Winograd):
// the panels of x and of the weights are then transformed, one pair for each of 36 products. Their
// errors are some ten times those of sums one after the other, and an infinity or NaN reaches all
// places of a tile.
//
// Promise: an element of y has the same bits wherever its tile begins: its sum runs through k in
// order, with fused multiply-add but for the scalar kernels. Long sums are to be made of several
// calls, whose results are added: what is rounded away grows with the number of terms.
#pragma once

#include "pippin/kernels/conv/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

// Every table that this build has, best first.
std::span<const Listed<ConvKernels>> conv_kernels();

// The first table that `cpu` can run.
const ConvKernels& choose_conv(const CpuFeatures& cpu);

// Elements that `outputs` outputs with sums of k products take as panels.
int64_t packed_conv_weights(const ConvKernels& kernels, int64_t outputs, int64_t k);

// Writes one output's weights [channels][taps] to its place in the panels, which are zero before.
void pack_conv_weights(const ConvKernels& kernels, const float* w, int64_t channels, int64_t taps,
                       int64_t output, float* panels);

// The same two for `places_tile`: panels of ConvKernels::outputs, each [taps][channels][outputs].
int64_t packed_places_weights(const ConvKernels& kernels, int64_t outputs, int64_t k);
void pack_places_weights(const ConvKernels& kernels, const float* w, int64_t channels, int64_t taps,
                         int64_t output, float* panels);

// Writes one output's weights [channels][3][3], transformed, to its place in the panels (of
// places_tile) of each of the 36 products, one after another, which are zero before.
void pack_winograd_weights(const ConvKernels& kernels, const float* w, int64_t channels,
                           int64_t outputs, int64_t output, float* panels);

}  // namespace pippin::kernels
