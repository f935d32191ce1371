// Layers of compiled networks that move elements, and products of tensors.
#include <algorithm>
#include <functional>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/mil/networks/espresso_layer.h"

namespace pippin::mil::networks {
namespace {

constexpr size_t kMostAxes = std::size(kSizeNames);

// Values by axis, outermost first.
std::vector<int64_t> by_axis(const EspressoLayer& layer, std::string_view prefix, size_t rank,
                             std::optional<int64_t> absent) {
  std::vector<int64_t> values;
  values.reserve(rank);
  for (size_t axis = rank; axis > 0; --axis) {
    const std::string key = fmt::format("{}{}", prefix, kSizeNames[axis - 1]);
    values.push_back(absent ? layer.number(key, *absent) : layer.number(key));
  }
  return values;
}

void add_copy(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kCopy = 600;
  layer.require_inputs(1);
  network.add(layer, kCopy, {});
}

void add_flatten(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kFlatten = 301;
  layer.require_inputs(1);
  const int64_t mode = layer.number("mode", 0);
  if (mode != 0) layer.require("mode", 1);
  network.add(layer, kFlatten, Message().integer(1, mode));
}

// Places are counted from the last axis.
void add_transpose(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kTranspose = 985;
  layer.require_inputs(1);
  const auto rank = static_cast<int64_t>(network.rank(layer.inputs.front()));
  std::vector<int64_t> axes = by_axis(layer, "axis_", static_cast<size_t>(rank), std::nullopt);
  for (int64_t& axis : axes) {
    if (axis < 0 || axis >= rank) {
      fail(ErrorCode::InvalidFile, "axis {} of a tensor of rank {}", axis, rank);
    }
    axis = rank - 1 - axis;
  }
  network.add(layer, kTranspose, Message().integers(1, axes));
}

// Networks of five axes keep the first two.
void add_reshape(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kReshape = 300, kReshapeStatic = 1140;
  layer.require_inputs(1);
  layer.require("mode", 0);
  layer.require("dynamic_shape", 0);
  if (!network.has_ranks()) {
    layer.require("dst_seq", 1);
    layer.require("dst_n", 1);
    return network.add(layer, kReshape, Message().integers(1, by_axis(layer, "dst_", 3, 1)));
  }
  const int64_t rank = layer.number("dst_nd_rank");
  if (rank < 1 || rank > static_cast<int64_t>(kMostAxes)) {
    fail(ErrorCode::InvalidFile, "dst_nd_rank is {}, not 1 to {}", rank, kMostAxes);
  }
  network.add(layer, kReshapeStatic,
              Message().integers(1, by_axis(layer, "dst_", static_cast<size_t>(rank), 1)));
}

// The axis is counted from the last one.
void add_concat(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kConcat = 320, kConcatNd = 980;
  constexpr int64_t kChannels = 2;
  const int64_t axis = layer.number("axis", kChannels);
  if (axis < 0 || axis >= static_cast<int64_t>(kMostAxes)) layer.require("axis", kChannels);
  if (axis == kChannels) return network.add(layer, kConcat, {});
  network.add(layer, kConcatNd, Message().integer(1, -1 - axis));
}

// "begin_0", "begin_1" ... are the first places of the outputs, or all 0.
void add_split(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kSplitNd = 975;
  layer.require_inputs(1);
  if (layer.outputs.empty()) fail(ErrorCode::InvalidFile, "a split without outputs");
  const int64_t axis = layer.number("nd_axis");
  std::vector<int64_t> sizes;
  sizes.reserve(layer.outputs.size());
  int64_t begin = 0;
  for (const std::string& output : layer.outputs) {
    const std::vector<int64_t>& shape = network.sizes(output);
    const auto rank = std::ssize(shape);
    if (axis < -rank || axis >= rank) {
      fail(ErrorCode::InvalidFile, "axis {} of a tensor of rank {}", axis, rank);
    }
    const std::string key = fmt::format("begin_{}", sizes.size());
    if (const int64_t given = layer.number(key, 0); given != 0 && given != begin) {
      fail(ErrorCode::InvalidFile, "{} is {}, the outputs before it have {}", key, given, begin);
    }
    sizes.push_back(shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
    begin += sizes.back();
  }
  Message parameters;
  parameters.integer(1, axis);
  if (std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end()) {
    parameters.integer(2, std::ssize(sizes));
  } else {
    parameters.integers(3, sizes);
  }
  network.add(layer, kSplitNd, parameters);
}

void add_stack(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kStack = 925;
  network.add(layer, kStack, Message().integer(1, layer.number("nd_axis")));
}

void add_axes(EspressoNetwork& network, const EspressoLayer& layer, uint32_t field) {
  layer.require_inputs(1);
  const int64_t count = layer.number("size_of_axes");
  if (count < 1 || count > static_cast<int64_t>(kMostAxes)) {
    fail(ErrorCode::Unsupported, "size_of_axes {} is not supported", count);
  }
  Message parameters;
  for (int64_t i = 0; i < count; ++i) {
    parameters.integer(1, layer.number(fmt::format("axes_{}", i)));
  }
  network.add(layer, field, parameters);
}
void add_expand_dims(EspressoNetwork& network, const EspressoLayer& layer) {
  add_axes(network, layer, 1125);
}
void add_squeeze(EspressoNetwork& network, const EspressoLayer& layer) {
  add_axes(network, layer, 1120);
}

void add_tile(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kTile = 920;
  layer.require_inputs(1);
  network.add(layer, kTile,
              Message().integers(1, by_axis(layer, "dst_", network.rank(layer.inputs.front()), 1)));
}

void add_matmul(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kBatchedMatmul = 1045;
  layer.require_inputs(2);
  layer.require("channel_mode", 0);
  network.add(
      layer, kBatchedMatmul,
      Message().integer(1, layer.flag("transpose_x")).integer(2, layer.flag("transpose_y")));
}

}  // namespace

std::span<const EspressoKind> espresso_shape_layers() {
  static constexpr EspressoKind kKinds[] = {
      {"copy", add_copy, ""},
      {"flatten", add_flatten, "mode nd_axis"},
      {"transpose", add_transpose, "axis_w axis_h axis_k axis_n axis_seq"},
      {"reshape", add_reshape,
       "mode dynamic_shape version dst_nd_rank dst_w dst_h dst_k dst_n dst_seq"},
      {"concat", add_concat, "axis"},
      {"split_nd", add_split, "nd_axis begin_*"},
      {"stack_nd", add_stack, "nd_axis"},
      {"expand_dims", add_expand_dims, "nd_axis size_of_axes axes_0 axes_1 axes_2 axes_3 axes_4"},
      {"squeeze", add_squeeze, "nd_axis version size_of_axes axes_0 axes_1 axes_2 axes_3 axes_4"},
      {"tile", add_tile, "dst_w dst_h dst_k dst_n dst_seq"},
      {"batch_matmul", add_matmul, "channel_mode transpose_x transpose_y"}};
  return kKinds;
}

}  // namespace pippin::mil::networks
