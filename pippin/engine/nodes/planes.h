// Work over planes: y [N, C, D, H, W] without gaps, channels first or last, computed from the
// neighbourhoods of x, which has the same axes. Missing spatial axes are leading axes of 1.
//
// Elementwise operations after the node (an activation, a norm by channel, a residual) are applied
// to each piece while it is in the cache, in the order of the finishes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "pippin/engine/nodes/view.h"
#include "pippin/kernels/elementwise/args.h"

namespace pippin::engine {

constexpr int kSpatialAxes = 3;
constexpr int kPlaneRank = 2 + kSpatialAxes;

// The windows along one axis.
struct WindowAxis {
  std::vector<int64_t> taps = {0};  // elements of a window, relative to its start
  int64_t stride = 1;
  int64_t pad = 0;                        // before the first element of x, may be negative
  bool same = false, same_lower = false;  // `pad` follows from the sizes

  // The start of window 0: at or before element 0 of x, unless pad is negative.
  int64_t start(int64_t in, int64_t out) const;
};
using Windows = std::array<WindowAxis, kSpatialAxes>;

int64_t num_taps(const Windows& windows);
// One element at every place and no padding: the convolution reads the list of places.
bool is_pointwise(const Windows& windows);

// Whether pointers to all taps may be kept.
bool has_few_taps(const Windows& windows);
// Whether they are those of WinogradNode.
bool is_winograd(const Windows& windows);

// Whether the channels of a place of [N, C, spatial...] are adjacent in memory.
bool has_channels_last(const View& view);

// An operation on every element of y, applied after the previous finishes.
struct Finish {
  enum class Kind : uint8_t {
    Unary,     // op(y) with alpha and beta
    Channels,  // the same with an alpha and a beta for each channel
    Add,       // y + residual
  };
  Kind kind = Kind::Unary;
  kernels::UnaryOp op = kernels::UnaryOp::Relu;
  std::string name;
  float alpha = 0, beta = 0;
  std::vector<float> alphas, betas;  // of channels
  size_t residual = 0;               // index of a view, with the layout of y
};

// views: y, x with any strides, the panels of all groups one after another, for Pairs the scales
// [O] of the sums, a bias [O] if any; residuals.
struct ConvNode {
  enum class Operands : uint8_t {
    Floats,
    Pairs,  // elements of x and the panels are two integers of 16 bits each
  };
  Operands operands = Operands::Floats;
  Windows windows;
  int64_t groups = 1;
  bool has_bias = false;
};

// The same with channels last: y without gaps; x with channels last, or channels first in any
// layout; the panels of all groups one after another, with the taps in this layout.
struct ChannelsLastConvNode {
  Windows windows;
  int64_t groups = 1;
  bool has_bias = false;
};

// 3 x 3 weights with stride 1 by Winograd's algorithm. views: y [N, O, 1, H, W] with channels last,
// without gaps; x [N, C, 1, H, W] with channels last, the panels of each of the 36 products one
// after another, a bias [O] if any; all fp32.
struct WinogradNode {
  Windows windows;
  bool has_bias = false;
};

// Operations on each channel separately: depthwise convolutions and pooling. views: y [N, O, D, H,
// W], x [N, C, D, H, W] with any strides; with weights w [O, taps] and a bias [O] if any; all fp32.
// O is a multiple of C.
enum class WindowOp : uint8_t {
  Weights,  // sum of weight * x, plus bias
  Max,
  Average,  // over all places of a window
  Inside,   // over the places inside x
  Norm,     // square root of the sum of squares
};
struct WindowNode {
  std::string name;
  WindowOp op{};
  Windows windows;
  // Number of places after the end of x that Average counts; no limit if windows pad as needed.
  std::array<int64_t, kSpatialAxes> pad_end{};
  bool has_bias = false;
};

// The same with channels last: y and x with channels last, y without gaps; w [taps, C], a bias [C]
// if any. All of WindowOp except Norm.
struct ChannelsLastWindowNode {
  std::string name;
  WindowOp op{};
  Windows windows;
  std::array<int64_t, kSpatialAxes> pad_end{};
  bool has_bias = false;
};

// x itself, for the finishes.
struct ChannelNode {};

struct PlaneNode {
  std::variant<ChannelNode, ChannelsLastWindowNode, ConvNode, ChannelsLastConvNode, WindowNode,
               WinogradNode>
      work;
  std::vector<Finish> finishes;
};

// Packs computed weights [O, C / groups * taps] for ConvNode; views: panels, weights.
struct PackConvNode {
  int64_t groups = 1, taps = 1;
};

}  // namespace pippin::engine
