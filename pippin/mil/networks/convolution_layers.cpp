// Convolutions in two and three dimensions, and the transposed ones.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/borders.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

// A convolution over any number of axes.
struct Convolution {
  int64_t outputs = 0, kernel_channels = 0, groups = 1;
  std::vector<int64_t> kernel, strides, dilations, output_shape;
  Borders borders;
  bool transposed = false, has_bias = false;
  Field weights{0, "weights"}, bias{0, "bias"};
};

// Output positions beyond the full result, and those cropped before its first one.
void fix_output_shape(const Graph& graph, const Var* x, Convolution& conv) {
  if (conv.output_shape.empty()) return;
  const size_t axes = conv.kernel.size();
  if (conv.output_shape.size() != axes) {
    fail(ErrorCode::InvalidFile, "outputShape has {} numbers, not {}", conv.output_shape.size(),
         axes);
  }
  for (const int64_t size : conv.output_shape) {
    if (size < 1 || size > kMostSize)
      fail(ErrorCode::InvalidFile, "outputShape has a size of {}, not 1 to {}", size, kMostSize);
  }
  const bool given = !conv.borders.amounts.empty();
  std::vector<int64_t> amounts;
  amounts.reserve(2 * axes);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t extent = (conv.kernel[i] - 1) * conv.dilations[i] + 1;
    int64_t start = 0, end = 0;
    if (given) {
      start = conv.borders.amounts[2 * i];
      end = conv.borders.amounts[2 * i + 1];
    } else {
      const int64_t in = known_size(graph, x, static_cast<int64_t>(i) + 2);
      const int64_t cut = (in - 1) * conv.strides[i] + extent - conv.output_shape[i];
      start = std::max<int64_t>(0, cut / 2);
      end = std::max<int64_t>(0, cut - start);
    }
    amounts.push_back(start);
    amounts.push_back(end);
  }
  conv.borders = {.type = "custom", .amounts = std::move(amounts)};
}

std::vector<int64_t> weight_shape(const Convolution& conv, int64_t in_channels) {
  std::vector<int64_t> shape = {conv.outputs, conv.kernel_channels};
  if (conv.transposed) shape = {in_channels, conv.outputs / conv.groups};
  shape.insert(shape.end(), conv.kernel.begin(), conv.kernel.end());
  return shape;
}

Var* convolved(Network& network, const Layer& layer, Var* x, Convolution conv) {
  Graph& graph = network.graph;
  if (conv.groups < 1 || conv.outputs < 1 || conv.outputs > kMostSize || conv.kernel_channels < 0 ||
      conv.kernel_channels > kMostSize || conv.groups > kMostSize ||
      conv.outputs % conv.groups != 0) {
    fail(ErrorCode::InvalidFile, "{} output channels in {} groups", conv.outputs, conv.groups);
  }
  const Fields& parameters = layer.parameters;
  Var* weight = nullptr;
  if (layer.inputs.size() > 1) {
    weight = network.real(layer, 1);
  } else {
    const int64_t in_channels =
        conv.transposed ? known_size(graph, x, 1) : conv.kernel_channels * conv.groups;
    weight = network.weights(parameters, conv.weights, weight_shape(conv, in_channels),
                             conv.transposed ? 1 : 0);
  }
  if (conv.transposed) fix_output_shape(graph, x, conv);
  Graph::Arguments arguments = {{"x", {x}},
                                {"weight", {weight}},
                                {"strides", {integers(conv.strides)}},
                                {"dilations", {integers(conv.dilations)}},
                                {"groups", {integer(conv.groups)}}};
  add_borders(conv.borders, arguments);
  if (conv.has_bias) {
    arguments.push_back({"bias", {network.weights(parameters, conv.bias, {conv.outputs})}});
  }
  if (conv.transposed && !conv.output_shape.empty()) {
    std::vector<int64_t> shape = {graph.shape(x)[0].try_constant().value_or(1), conv.outputs};
    shape.insert(shape.end(), conv.output_shape.begin(), conv.output_shape.end());
    arguments.push_back({"output_shape", {integers(shape)}});
  }
  return graph.add(conv.transposed ? "conv_transpose" : "conv", std::move(arguments));
}

void translate_convolution(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Convolution conv;
  conv.outputs = parameters.integer({1, "outputChannels"});
  conv.kernel_channels = parameters.integer({2, "kernelChannels"});
  conv.groups = std::max<int64_t>(1, parameters.integer({10, "nGroups"}));
  conv.kernel = positive(parameters, {20, "kernelSize"}, 2, 3);
  conv.strides = positive(parameters, {30, "stride"}, 2, 1);
  conv.dilations = positive(parameters, {40, "dilationFactor"}, 2, 1);
  conv.borders = read_borders(parameters, 50);
  conv.transposed = parameters.flag({60, "isDeconvolution"});
  conv.has_bias = parameters.flag({70, "hasBias"});
  conv.weights = {90, "weights"};
  conv.bias = {91, "bias"};
  conv.output_shape = parameters.integers({100, "outputShape"});
  const Slot x = network.floats(layer, 0);
  network.set_planes(layer, convolved(network, layer, network.planes(x), std::move(conv)), x);
}

void translate_convolution3d(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Convolution conv;
  conv.outputs = parameters.integer({1, "outputChannels"});
  conv.groups = std::max<int64_t>(1, parameters.integer({10, "nGroups"}));
  conv.kernel_channels = parameters.integer({2, "inputChannels"}) / conv.groups;
  conv.kernel = three_sizes(parameters, 20, "a kernel size");
  conv.strides = three_sizes(parameters, 31, "a stride");
  conv.dilations = three_sizes(parameters, 40, "a dilation");
  conv.borders = read_borders3(parameters, {70, "paddingType"}, 80);
  conv.transposed = parameters.flag({86, "isDeconvolution"});
  conv.has_bias = parameters.flag({50, "hasBias"});
  conv.weights = {60, "weights"};
  conv.bias = {61, "bias"};
  conv.output_shape = parameters.integers({87, "outputShape"});
  network.set(layer, 0, convolved(network, layer, network.real(layer, 0), std::move(conv)));
}

}  // namespace

std::span<const LayerKind> convolution_layers() {
  static constexpr LayerKind kKinds[] = {{100, "convolution", translate_convolution},
                                         {1471, "convolution3d", translate_convolution3d}};
  return kKinds;
}

}  // namespace pippin::mil::networks
