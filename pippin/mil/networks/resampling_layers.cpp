// Layers that resize images.
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/mil/networks/crop_resize.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

constexpr std::string_view kFactorNames[] = {"scale_factor_height", "scale_factor_width"};
constexpr std::string_view kTargetNames[] = {"target_size_height", "target_size_width"};

constexpr float kMostFactor = 65536;
// The most rows or columns whose sources are listed in the program.
constexpr int64_t kMostPlaces = 1 << 20;

// Rows or columns floor(i / factor) of the input.
Var* repeated(Graph& graph, Var* x, int64_t axis, float factor) {
  if (factor == 1) return x;
  const int64_t in = known_size(graph, x, axis);
  const auto out = static_cast<int64_t>(std::floor(static_cast<double>(in) * double{factor}));
  if (out < 1 || out > kMostPlaces) {
    fail(ErrorCode::InvalidFile, "a factor of {} for {} rows or columns", factor, in);
  }
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const double place = std::floor(static_cast<double>(i) / double{factor});
    places.push_back(std::min(in - 1, static_cast<int64_t>(place)));
  }
  return graph.add("gather",
                   {{"x", {x}}, {"indices", {integers(places)}}, {"axis", {integer(axis)}}});
}

void translate_upsample(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  std::vector<float> factors = parameters.numbers({7, "fractionalScalingFactor"});
  if (factors.empty()) {
    for (const int64_t factor : parameters.integers({1, "scalingFactor"})) {
      factors.push_back(static_cast<float>(factor));
    }
  }
  if (factors.empty()) factors = {1, 1};
  const auto is_factor = [](float factor) { return factor > 0 && factor <= kMostFactor; };
  if (factors.size() != 2 || !is_factor(factors[0]) || !is_factor(factors[1])) {
    fail(ErrorCode::InvalidFile, "the scaling factors are not two above 0, at most {}",
         kMostFactor);
  }
  const Slot slot = network.floats(layer, 0);
  Var* x = network.planes(slot);
  const auto is_whole = [](float factor) { return factor == std::floor(factor); };
  const bool nearest = parameters.choice({5, "mode"}, 2) == 0;
  if (nearest && !(is_whole(factors[0]) && is_whole(factors[1]))) {
    x = repeated(graph, repeated(graph, x, 2, factors[0]), 3, factors[1]);
    return network.set_planes(layer, x, slot);
  }
  Graph::Arguments arguments = {{"x", {x}}};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    arguments.push_back(
        {kFactorNames[i],
         {is_whole(factors[i]) ? integer(static_cast<int64_t>(factors[i])) : number(factors[i])}});
  }
  if (nearest) {
    return network.set_planes(layer, graph.add("upsample_nearest_neighbor", std::move(arguments)),
                              slot);
  }
  constexpr size_t kAligned = 1, kNotAligned = 2;
  const size_t mode = parameters.choice({6, "linearUpsampleMode"}, 3);
  arguments.push_back({"align_corners", {flag(mode == kAligned)}});
  arguments.push_back({"half_pixel_centers", {flag(mode == kNotAligned)}});
  network.set_planes(layer, graph.add("upsample_bilinear", std::move(arguments)), slot);
}

Value sampling_mode(const Fields& message) {
  constexpr std::string_view kModes[] = {"STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT",
                                         "OFFSET_CORNERS"};
  return text(std::string(kModes[message.choice({1, "samplingMethod"}, std::size(kModes))]));
}

std::vector<int64_t> target_size(const Fields& parameters) {
  std::vector<int64_t> size = parameters.integers({1, "targetSize"});
  if (size.empty()) size = {1, 1};
  if (size.size() != 2)
    fail(ErrorCode::InvalidFile, "targetSize has {} numbers, not 2", size.size());
  return size;
}

void translate_resize(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const std::vector<int64_t> size = target_size(parameters);
  const Slot x = network.floats(layer, 0);
  Var* result = network.graph.add(
      "resize_bilinear", {{"x", {network.planes(x)}},
                          {kTargetNames[0], {integer(size[0])}},
                          {kTargetNames[1], {integer(size[1])}},
                          {"sampling_mode", {sampling_mode(parameters.message({2, "mode"}))}}});
  network.set_planes(layer, result, x);
}

}  // namespace

std::span<const LayerKind> resampling_layers() {
  static constexpr LayerKind kKinds[] = {{210, "upsample", translate_upsample},
                                         {211, "resizeBilinear", translate_resize},
                                         {212, "cropResize", translate_crop_resize}};
  return kKinds;
}

}  // namespace pippin::mil::networks
