// Pooling in two and three dimensions.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/borders.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

constexpr std::string_view kPools[] = {"max_pool", "avg_pool", "l2_pool"};
constexpr std::string_view kReductions[] = {"reduce_max", "reduce_mean", "reduce_l2_norm"};

size_t pooling_type(const Fields& parameters, size_t count) {
  const int64_t type = parameters.integer({1, "type"});
  if (type < 0 || type >= static_cast<int64_t>(count)) {
    fail(ErrorCode::InvalidFile, "unknown pooling type {}", type);
  }
  return static_cast<size_t>(type);
}

Var* pooled_globally(Graph& graph, Var* x, size_t type, const std::vector<int64_t>& axes) {
  return graph.add(kReductions[type],
                   {{"x", {x}}, {"axes", {integers(axes)}}, {"keep_dims", {flag(true)}}});
}

// The padding for which the last windows fit. They may begin in the leading padding but not past
// the input. The border at the end counts as padding.
Borders complete_borders(const Graph& graph, const Var* x, const std::vector<int64_t>& kernel,
                         const std::vector<int64_t>& strides, const std::vector<int64_t>& padding) {
  Borders borders;
  const bool any = std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p > 0; });
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t in = known_size(graph, x, static_cast<int64_t>(i) + 2);
    const int64_t room = std::max<int64_t>(0, in + 2 * padding[i] - kernel[i]);
    int64_t count = (room + strides[i] - 1) / strides[i] + 1;
    if (any && (count - 1) * strides[i] >= in + padding[i]) --count;
    borders.amounts.push_back(padding[i]);
    borders.amounts.push_back(
        std::max<int64_t>(0, (count - 1) * strides[i] + kernel[i] - in - padding[i]));
  }
  return borders;
}

bool known_planes(const Graph& graph, const Var* x) {
  return graph.shape(x)[2].is_constant() && graph.shape(x)[3].is_constant();
}

void translate_pooling(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const size_t type = pooling_type(parameters, std::size(kPools));
  const Slot slot = network.floats(layer, 0);
  if (parameters.flag({60, "globalPooling"})) {
    return network.set(layer, pooled_globally(graph, slot.var, type, {-2, -1}), slot);
  }
  const std::vector<int64_t> kernel = positive(parameters, {10, "kernelSize"}, 2, 3);
  const std::vector<int64_t> strides = positive(parameters, {20, "stride"}, 2, 1);
  Var* x = network.planes(slot);
  constexpr Field kComplete{32, "includeLastPixel"};
  Borders borders;
  const bool exclude = parameters.flag({50, "avgPoolExcludePadding"});
  const bool counts_padding = kPools[type] == "avg_pool" && !exclude;
  bool last = false;
  if (parameters.has(kComplete)) {
    std::vector<int64_t> padding = parameters.message(kComplete).integers({10, "paddingAmounts"});
    if (padding.empty()) padding = {0, 0};
    if (padding.size() != 2 || padding[0] < 0 || padding[1] < 0 || padding[0] > kMostSize ||
        padding[1] > kMostSize) {
      fail(ErrorCode::InvalidFile, "includeLastPixel needs two amounts of padding");
    }
    if (known_planes(graph, x)) {
      borders = complete_borders(graph, x, kernel, strides, padding);
    } else {
      // Cells past the padding are ignored.
      if (counts_padding) {
        fail(ErrorCode::Unsupported, "includeLastPixel of an average over images of any size");
      }
      borders.amounts = {padding[0], padding[0], padding[1], padding[1]};
      last = true;
    }
  } else {
    borders = read_borders(parameters, 30);
  }
  Graph::Arguments arguments = {
      {"x", {x}}, {"kernel_sizes", {integers(kernel)}}, {"strides", {integers(strides)}}};
  add_borders(borders, arguments);
  if (last) arguments.push_back({"ceil_mode", {flag(true)}});
  if (kPools[type] == "avg_pool") {
    arguments.push_back({"exclude_padding_from_average", {flag(exclude)}});
  }
  network.set_planes(layer, graph.add(kPools[type], std::move(arguments)), slot);
}

void translate_pooling3d(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const size_t type = pooling_type(parameters, 2);
  Graph::Arguments arguments = {
      {"x", {network.real(layer, 0)}},
      {"kernel_sizes", {integers(three_sizes(parameters, 2, "a kernel size"))}},
      {"strides", {integers(three_sizes(parameters, 5, "a stride"))}}};
  add_borders(read_borders3(parameters, {15, "paddingType"}, 8), arguments);
  if (kPools[type] == "avg_pool") {
    arguments.push_back(
        {"exclude_padding_from_average", {flag(parameters.flag({14, "countExcludePadding"}))}});
  }
  network.set(layer, 0, network.graph.add(kPools[type], std::move(arguments)));
}

void translate_global_pooling3d(Network& network, const Layer& layer) {
  const size_t type = pooling_type(layer.parameters, 2);
  network.set(layer, 0, pooled_globally(network.graph, network.real(layer, 0), type, {-3, -2, -1}));
}

}  // namespace

std::span<const LayerKind> pooling_layers() {
  static constexpr LayerKind kKinds[] = {{120, "pooling", translate_pooling},
                                         {1465, "pooling3d", translate_pooling3d},
                                         {1466, "globalPooling3d", translate_global_pooling3d}};
  return kKinds;
}

}  // namespace pippin::mil::networks
