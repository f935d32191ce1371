// Layers that change shapes and the order of axes.
#include <algorithm>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/operands.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kAxes{1, "axes"}, kTargetShape{1, "targetShape"};

// The permutation to channels last, and its inverse.
std::vector<int64_t> channels_last(int64_t rank, bool back) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.end() - 3;
  if (back) {
    std::rotate(last, last + 2, order.end());
  } else {
    std::rotate(last, last + 1, order.end());
  }
  return order;
}

// x with other sizes of its last three axes; with `channels_behind`, elements are read and written
// in channels-last order.
Var* with_planes(Graph& graph, Var* x, const std::vector<int64_t>& planes, bool channels_behind) {
  const int64_t rank = graph.rank(x);
  if (rank < 3) fail(ErrorCode::InvalidFile, "an input of rank {}, not 3 to 5", rank);
  std::vector<Size> sizes = sizes_of(graph, x);
  sizes.resize(sizes.size() - 3);
  if (channels_behind) x = transposed(graph, x, channels_last(rank, false));
  std::vector<int64_t> target = planes;
  if (channels_behind) target = {planes[1], planes[2], planes[0]};
  for (const int64_t size : target) sizes.push_back({size});
  Var* result = reshaped(graph, x, sizes);
  return channels_behind ? transposed(graph, result, channels_last(rank, true)) : result;
}

void translate_reshape(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const std::vector<int64_t> target = layer.parameters.integers(kTargetShape);
  const bool last = layer.parameters.choice({2, "mode"}, 2) == 1;
  const Slot x = network.slot(layer, 0);
  if (target.size() == 3) return network.set(layer, with_planes(graph, x.var, target, last), x);
  if (target.size() != 4) {
    fail(ErrorCode::InvalidFile, "targetShape has {} numbers, not 3 or 4", target.size());
  }
  // Elements move between the sequence and the other axes. The batch is 1, or the remaining size if
  // the input's is not known to be 1.
  Var* full = network.full(x);
  const int64_t rank = graph.rank(full);
  if (last) full = transposed(graph, full, channels_last(rank, false));
  const bool inferred = std::find(target.begin(), target.end(), -1) != target.end();
  const bool single = rank == 5 && graph.shape(full)[1] == Dim(1);
  std::vector<int64_t> sizes = {target[0], inferred || single ? 1 : -1, target[1], target[2],
                                target[3]};
  if (last) std::rotate(sizes.begin() + 2, sizes.begin() + 3, sizes.end());
  Var* result = reshaped(graph, full, sizes);
  network.set(layer, 0, last ? transposed(graph, result, channels_last(5, true)) : result);
}

void translate_flatten(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Slot slot = network.slot(layer, 0);
  Var* x = slot.var;
  const int64_t rank = graph.rank(x);
  if (rank < 3) fail(ErrorCode::InvalidFile, "an input of rank {}, not 3 to 5", rank);
  if (layer.parameters.choice({1, "mode"}, 2) == 1) {
    x = transposed(graph, x, channels_last(rank, false));
  }
  std::vector<Size> sizes = sizes_of(graph, slot.var);
  sizes.resize(sizes.size() - 3);
  for (const int64_t size : {-1, 1, 1}) sizes.push_back({size});
  network.set(layer, reshaped(graph, x, sizes), slot);
}

// Axes of [sequence, channel, height, width]; the batch stays where it is.
void translate_permute(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const std::vector<int64_t> axes = layer.parameters.integers({1, "axis"});
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<int64_t>{0, 1, 2, 3}) {
    fail(ErrorCode::InvalidFile, "the axes are not a permutation of 0 to 3");
  }
  const Slot slot = network.slot(layer, 0);
  if (axes[0] == 0) {
    const int64_t leading = graph.rank(slot.var) - 3;
    if (leading < 0) fail(ErrorCode::InvalidFile, "an input of rank {}", leading + 3);
    std::vector<int64_t> order(static_cast<size_t>(leading));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 1; i < 4; ++i) order.push_back(leading + axes[i] - 1);
    return network.set(layer, transposed(graph, slot.var, order), slot);
  }
  Var* x = network.full(slot);
  if (graph.rank(x) != 5) fail(ErrorCode::InvalidFile, "an input without a sequence axis");
  const auto place = [](int64_t axis) { return axis == 0 ? axis : axis + 1; };
  network.set(
      layer, 0,
      transposed(graph, x, {place(axes[0]), 1, place(axes[1]), place(axes[2]), place(axes[3])}));
}

void translate_transpose(Network& network, const Layer& layer) {
  Var* x = network.any(layer, 0);
  std::vector<int64_t> axes = layer.parameters.integers(kAxes);
  // Networks converted with images that had no batch axis.
  if (axes.size() == 3 && network.graph.rank(x) == 4) {
    for (int64_t& axis : axes) ++axis;
    axes.insert(axes.begin(), 0);
  }
  network.set(layer, 0, transposed(network.graph, x, axes));
}

void translate_squeeze(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.any(layer, 0);
  std::vector<int64_t> axes = layer.parameters.integers(kAxes);
  if (layer.parameters.flag({2, "squeezeAll"})) {
    axes.clear();
    for (int64_t axis = 0; axis < graph.rank(x); ++axis) {
      if (graph.shape(x)[static_cast<size_t>(axis)] == Dim(1)) axes.push_back(axis);
    }
  }
  network.set(layer, 0, squeezed(graph, x, axes));
}

void translate_expand_dims(Network& network, const Layer& layer) {
  network.set(layer, 0,
              expanded(network.graph, network.any(layer, 0), layer.parameters.integers(kAxes)));
}

void translate_flatten2d(Network& network, const Layer& layer) {
  network.set(
      layer, 0,
      network.graph.add("flatten2d", {{"x", {network.any(layer, 0)}},
                                      {"axis", {integer(layer.parameters.integer({1, "axis"}))}}}));
}

void translate_reshape_static(Network& network, const Layer& layer) {
  network.set(
      layer, 0,
      reshaped(network.graph, network.any(layer, 0), layer.parameters.integers(kTargetShape)));
}

void translate_reshape_like(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* like = network.any(layer, 1);
  network.set(layer, 0, reshaped(graph, network.any(layer, 0), sizes_of(graph, like)));
}

void translate_reshape_dynamic(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* shape = flattened(graph, network.integral(layer, 1));
  network.set(layer, 0, graph.add("reshape", {{"x", {network.any(layer, 0)}}, {"shape", {shape}}}));
}

void translate_rank_preserving(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.any(layer, 0);
  std::vector<Size> sizes = known_sizes(layer.parameters.integers(kTargetShape));
  if (std::ssize(sizes) != graph.rank(x)) {
    fail(ErrorCode::InvalidFile, "targetShape has {} numbers for rank {}", sizes.size(),
         graph.rank(x));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].number == 0) sizes[i] = size_of(graph, x, static_cast<int64_t>(i));
  }
  network.set(layer, 0, reshaped(graph, x, sizes));
}

constexpr std::string_view kReorganizations[] = {"space_to_depth", "depth_to_space",
                                                 "pixel_shuffle"};

void translate_reorganize(Network& network, const Layer& layer) {
  const size_t mode = layer.parameters.choice({1, "mode"}, std::size(kReorganizations));
  const Value block = integer(layer.parameters.integer({2, "blockSize"}));
  const Slot x = network.floats(layer, 0);
  const std::string_view parameter = mode == 2 ? "upscale_factor" : "block_size";
  Var* result =
      network.graph.add(kReorganizations[mode], {{"x", {network.planes(x)}}, {parameter, {block}}});
  network.set_planes(layer, result, x);
}

void translate_get_shape(Network& network, const Layer& layer) {
  network.set(layer, 0, network.graph.add("shape", {{"x", {network.any(layer, 0)}}}));
}

}  // namespace

std::span<const LayerKind> shape_layers() {
  static constexpr LayerKind kKinds[] = {
      {300, "reshape", translate_reshape},
      {301, "flatten", translate_flatten},
      {310, "permute", translate_permute},
      {345, "reorganizeData", translate_reorganize},
      {985, "transpose", translate_transpose},
      {1065, "getShape", translate_get_shape},
      {1120, "squeeze", translate_squeeze},
      {1125, "expandDims", translate_expand_dims},
      {1130, "flattenTo2D", translate_flatten2d},
      {1135, "reshapeLike", translate_reshape_like},
      {1140, "reshapeStatic", translate_reshape_static},
      {1145, "reshapeDynamic", translate_reshape_dynamic},
      {1150, "rankPreservingReshape", translate_rank_preserving}};
  return kKinds;
}

}  // namespace pippin::mil::networks
