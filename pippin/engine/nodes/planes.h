// Work over planes: y [N, C, D, H, W] without gaps, channel by channel or with the channels of a
// place side by side, computed from the neighbourhoods of x, which has the same axes. Fewer spatial
// axes are axes of 1 in front.
//
// What follows element by element (an activation, a norm by channel, a residual) is done to each
// piece while it is in the cache, in the order of the finishes.
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
  std::vector<int64_t> taps = {0};  // elements of a window, from its start
  int64_t stride = 1;
  int64_t pad = 0;                        // before the first element of x, may be negative
  bool same = false, same_lower = false;  // `pad` follows from the sizes

  // Where window 0 starts: at or before element 0 of x, unless pad is negative.
  int64_t start(int64_t in, int64_t out) const;
};
using Windows = std::array<WindowAxis, kSpatialAxes>;

int64_t num_taps(const Windows& windows);
// One element at every place and no padding: what is convolved is the list of places.
bool is_pointwise(const Windows& windows);

// So few that pointers to all of them may be kept.
bool has_few_taps(const Windows& windows);
// Those of WinogradNode.
bool is_winograd(const Windows& windows);

// Whether the channels of a place of [N, C, spatial...] lie side by side in memory.
bool has_channels_last(const View& view);

// Something done to every element of y after the others.
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
  size_t residual = 0;               // which of the views; laid out as y
};

// views: y, x with any strides, the panels of all groups one after another, of pairs the scales [O]
// of the sums, a bias [O] if there is one; residuals.
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

// The same with channels last: y without gaps; x with channels last, or by planes in any layout;
// the panels of all groups one after another, of the taps that they have so.
struct PlacesConvNode {
  Windows windows;
  int64_t groups = 1;
  bool has_bias = false;
};

// 3 x 3 weights at every place by Winograd's products. views: y [N, O, 1, H, W] with channels last,
// without gaps; x [N, C, 1, H, W] with channels last, the panels of each of the 36 products one
// after another, a bias [O] if there is one; all fp32.
struct WinogradNode {
  Windows windows;
  bool has_bias = false;
};

// What each channel has to itself: depthwise convolutions and pooling. views: y [N, O, D, H, W], x
// [N, C, D, H, W] with any strides; with weights w [O, taps] and a bias [O] if there is one; all
// fp32. O is a multiple of C.
enum class WindowOp : uint8_t {
  Weights,  // sum of weight * x, plus bias
  Max,
  Average,  // of all places of a window
  Inside,   // of those that lie in x
  Norm,     // square root of the sum of squares
};
struct WindowNode {
  std::string name;
  WindowOp op{};
  Windows windows;
  // What Average counts after the end of x; no limit where windows pad as they need.
  std::array<int64_t, kSpatialAxes> pad_end{};
  bool has_bias = false;
};

// The same with channels last: y and x with channels last, y without gaps; w [taps, C], a bias [C]
// if there is one. All of WindowOp but Norm.
struct ChannelsWindowNode {
  std::string name;
  WindowOp op{};
  Windows windows;
  std::array<int64_t, kSpatialAxes> pad_end{};
  bool has_bias = false;
};

// x itself, for the finishes.
struct ChannelNode {};

struct PlaneNode {
  std::variant<ChannelNode, ChannelsWindowNode, ConvNode, PlacesConvNode, WindowNode, WinogradNode>
      work;
  std::vector<Finish> finishes;
};

// Packs weights [O, C / groups * taps] that are computed, for ConvNode; views: panels, weights.
struct PackConvNode {
  int64_t groups = 1, taps = 1;
};

}  // namespace pippin::engine
