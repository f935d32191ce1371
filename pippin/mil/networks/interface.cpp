#include "pippin/mil/networks/interface.h"

#include <algorithm>
#include <limits>

#include "pippin/base/error.h"

namespace pippin::mil::networks {
namespace {

constexpr int64_t kAny = std::numeric_limits<int32_t>::max();

Dim flexible(const std::string& name, size_t axis, const SizeRange& range) {
  if (range.lower == range.upper) return Dim(range.lower);
  return Dim::symbol(fmt::format("{}.dim{}", name, axis), range.lower,
                     range.upper < 0 ? kAny : range.upper);
}

// Adds a shape or size to the listed ones, if there are some: the default is allowed too.
template <typename Shapes>
void allow_default(Shapes& listed, const typename Shapes::value_type& shape) {
  const bool absent = std::find(listed.begin(), listed.end(), shape) == listed.end();
  if (!listed.empty() && absent) listed.push_back(shape);
}

// The smallest and the largest size of each axis.
std::vector<SizeRange> ranges_of(const Feature& feature) {
  if (!feature.ranges.empty()) return feature.ranges;
  const auto& shapes = feature.enumerated_shapes;
  std::vector<SizeRange> ranges;
  const std::vector<int64_t>& first = shapes.empty() ? feature.shape : shapes.front();
  ranges.reserve(first.size());
  for (const int64_t size : first) ranges.push_back({size, size});
  for (const auto& shape : shapes) {
    if (shape.size() != ranges.size()) {
      fail(ErrorCode::Unsupported, "'{}': shapes of different ranks", feature.name);
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      ranges[i].lower = std::min(ranges[i].lower, shape[i]);
      ranges[i].upper = std::max(ranges[i].upper, shape[i]);
    }
  }
  return ranges;
}

Var* add_input(Network& network, const Feature& feature, DataType type, Shape shape) {
  ValueInfo info;
  info.type = type;
  info.shape = std::move(shape);
  ValueType declared = declared_type(info);
  return network.graph.add_input(feature.name, std::move(declared), std::move(info));
}

DataType program_type(Feature& feature) {
  if (feature.data_type == DataType::Float64) feature.data_type = DataType::Float32;
  return feature.data_type;
}

// A value of 3 or 1 sizes of the rank-5 mapping, with its sequence axis left out.
Slot with_plane_axes(Graph& graph, Var* x) {
  switch (graph.rank(x)) {
    case 1:
      return {expanded(graph, x, {0, 2, 3}), true};
    case 3:
      return {expanded(graph, x, {0}), true};
    case 2:
      return {expanded(graph, x, {2, 3}), true};
    default:
      return {x, graph.rank(x) == 4};
  }
}

void define_array(Network& network, Feature& feature, bool sequences) {
  auto& shapes = feature.enumerated_shapes;
  if (!shapes.empty() && shapes.front().size() == feature.shape.size()) {
    allow_default(shapes, feature.shape);
  }
  std::vector<SizeRange> ranges = ranges_of(feature);
  if (ranges.empty()) {
    fail(ErrorCode::Unsupported, "an array input without a shape");
  }
  const size_t rank = ranges.size();
  if (network.rank5 && (rank == 1 || rank == 3)) {
    feature.has_leading_axes = true;
    if (sequences) {
      const SizeRange any{1, -1}, one{1, 1};
      if (rank == 1) ranges.insert(ranges.end(), {one, one});
      ranges.insert(ranges.begin(), {any, any});
      feature.ranges = ranges;
      feature.enumerated_shapes.clear();
      feature.shape.clear();
      for (const SizeRange& range : ranges) feature.shape.push_back(range.lower);
    }
  }
  Shape shape;
  for (size_t i = 0; i < ranges.size(); ++i) {
    shape.push_back(flexible(feature.name, i, ranges[i]));
  }
  Var* var = add_input(network, feature, program_type(feature), std::move(shape));
  Slot slot{var};
  if (network.rank5 && !(sequences && (rank == 1 || rank == 3))) {
    slot = with_plane_axes(network.graph, var);
  }
  if (network.graph.type(slot.var) == DataType::Float16) {
    slot.var = network.graph.cast(slot.var, DataType::Float32);
  }
  network.values.insert_or_assign(feature.name, slot);
}

void define_image(Network& network, Feature& feature) {
  ImageType& image = feature.image;
  allow_default(image.enumerated_sizes, image.size);
  const bool color = image.color_space == ColorSpace::Rgb || image.color_space == ColorSpace::Bgr;
  SizeRange height{image.size.height, image.size.height}, width{image.size.width, image.size.width};
  for (const ImageSize& size : image.enumerated_sizes) {
    height = {std::min(height.lower, size.height), std::max(height.upper, size.height)};
    width = {std::min(width.lower, size.width), std::max(width.upper, size.width)};
  }
  if (image.height_range && image.width_range) {
    height = *image.height_range;
    width = *image.width_range;
  }
  const bool half = image.color_space == ColorSpace::GrayscaleFloat16;
  Var* var = add_input(network, feature, half ? DataType::Float16 : DataType::Float32,
                       {Dim(1), Dim(color ? 3 : 1), flexible(feature.name, 2, height),
                        flexible(feature.name, 3, width)});
  var = network.graph.cast(var, DataType::Float32);
  network.values.insert_or_assign(feature.name, Slot{var, network.image_rank5});
}

Var* scaled(Network& network, const Fields& scaler, const Feature& feature, Var* x) {
  Graph& graph = network.graph;
  const float scale = scaler.number({10, "channelScale"});
  const float blue = scaler.number({20, "blueBias"}), green = scaler.number({21, "greenBias"}),
              red = scaler.number({22, "redBias"}), gray = scaler.number({30, "grayBias"});
  std::vector<float> bias = {gray};
  if (feature.image.color_space == ColorSpace::Rgb) bias = {red, green, blue};
  if (feature.image.color_space == ColorSpace::Bgr) bias = {blue, green, red};
  Var* result = scale == 1 ? x : binary(graph, "mul", x, number(scale));
  if (std::all_of(bias.begin(), bias.end(), [](float one) { return one == 0; })) return result;
  return binary(graph, "add", result, network.literal(bias, {1, std::ssize(bias), 1, 1}));
}

}  // namespace

void define_inputs(Network& network, std::vector<Feature>& features, bool sequences) {
  for (Feature& feature : features) {
    with_context(fmt::format("input '{}'", feature.name), [&] {
      if (feature.kind == Feature::Kind::MultiArray) {
        define_array(network, feature, sequences);
      } else if (feature.kind == Feature::Kind::Image) {
        define_image(network, feature);
      } else if (feature.kind == Feature::Kind::Double || feature.kind == Feature::Kind::Int64) {
        Var* var = add_input(network, feature, DataType::Float32, {Dim(1)});
        network.values.insert_or_assign(
            feature.name, network.rank5 ? with_plane_axes(network.graph, var) : Slot{var});
      } else {
        fail(ErrorCode::InvalidFile, "the inputs of networks are arrays, images and numbers");
      }
    });
  }
}

void preprocess(Network& network, const std::vector<Fields>& messages,
                const std::vector<Feature>& features) {
  constexpr Field kScaler{10, "scaler"}, kMeanImage{11, "meanImage"};
  for (const Fields& message : messages) {
    const std::string name = message.text({1, "featureName"});
    // Old converters omit the name if there is only one input.
    const auto feature = std::find_if(features.begin(), features.end(), [&](const Feature& one) {
      return one.name == name || (name.empty() && one.kind == Feature::Kind::Image);
    });
    if (feature == features.end()) {
      fail(ErrorCode::InvalidFile, "preprocessing of '{}', which is not an input", name);
    }
    Slot& slot = network.values.at(feature->name);
    slot.var = network.graph.cast(slot.var, DataType::Float32);
    if (message.has(kScaler)) {
      slot.var = scaled(network, message.message(kScaler), *feature, slot.var);
    }
    if (message.has(kMeanImage)) {
      const auto rank = network.graph.rank(slot.var);
      if (rank < 3)
        fail(ErrorCode::InvalidFile, "the input '{}' has a mean image but is not an image",
             feature->name);
      std::vector<int64_t> shape;
      for (int64_t axis = rank - 3; axis < rank; ++axis) {
        shape.push_back(known_size(network.graph, slot.var, axis));
      }
      const std::vector<float> mean = message.message(kMeanImage).numbers({1, "meanImage"});
      if (std::ssize(mean) != shape[0] * shape[1] * shape[2]) {
        fail(ErrorCode::InvalidFile, "the mean image has {} numbers for an image of {} x {} x {}",
             mean.size(), shape[0], shape[1], shape[2]);
      }
      slot.var =
          binary(network.graph, "sub", slot.var, network.constant(float_source(mean), shape));
    }
  }
}

}  // namespace pippin::mil::networks
