#include "pippin/mil/networks/crop_resize.h"

#include "pippin/base/error.h"

namespace pippin::mil::networks {
namespace {

enum SamplingMethod : size_t {
  SamplingStrict,
  SamplingAligned,
  SamplingUpsampled,
  SamplingRoiAligned,
  SamplingCount
};

// The points of an interval of length L, in parts: point i is shift + L * of_length[i], or shift +
// max(L, 1) * of_length[i] with `at_least_one`. Some may be outside the interval.
struct GridParts {
  std::vector<float> of_length, shift;
  bool at_least_one = false;
};

GridParts grid_parts(size_t method, int64_t count) {
  GridParts parts;
  const auto points = static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    double slope = count > 1 ? at / (points - 1) : 0, shift = 0;
    if (method == SamplingAligned && count == 1) slope = 0.5;
    if (method == SamplingUpsampled && count > 1) {
      // (X - X / N) / (N - 1) is X / N, where X is L + 1.
      slope = at / points;
      shift = at / points;
    }
    if (method == SamplingRoiAligned) slope = (at + 0.5) / points;
    parts.of_length.push_back(static_cast<float>(slope));
    parts.shift.push_back(static_cast<float>(shift));
  }
  parts.at_least_one = method == SamplingRoiAligned;
  return parts;
}

class CropGrid {
 public:
  CropGrid(Network& network, const Fields& parameters, Var* images, Var* boxes)
      : network_(network), graph_(network.graph), images_(images), boxes_(boxes) {
    mode_ = parameters.message({4, "boxIndicesMode"}).choice({1, "boxMode"}, 4);
    method_ = parameters.message({3, "mode"}).choice({1, "samplingMethod"}, SamplingCount);
    normalized_ = parameters.flag({2, "normalizedCoordinates"});
    scale_ = parameters.number({5, "spatialScale"});
    if (scale_ == 0) scale_ = 1;
  }

  // The positions of the rows or columns of all boxes, [N, count]; `axis` is 2 or 3 of the images.
  Var* points(int64_t axis, int64_t count) {
    const bool width_first = mode_ % 2 == 1, centers = mode_ >= 2;
    const int64_t column = (axis == 2) == width_first ? 1 : 0;
    Var *first = box_column(column), *last = box_column(column + 2);
    if (centers) {
      Var* half = binary(graph_, "mul", last, number(0.5F));
      last = binary(graph_, "add", first, half);
      first = binary(graph_, "sub", first, half);
    }
    first = in_pixels(first, axis);
    last = in_pixels(last, axis);
    Var* signed_length = binary(graph_, "sub", last, first);
    Var* length = unary(graph_, "abs", signed_length);
    const GridParts parts = grid_parts(method_, count);
    Var* spread = parts.at_least_one ? binary(graph_, "maximum", length, number(1)) : length;
    Var* distance = binary(graph_, "add", binary(graph_, "mul", spread, row(parts.of_length)),
                           row(parts.shift));
    Var* backwards = binary(graph_, "less", signed_length, number(0));
    Var* direction =
        binary(graph_, "sub", graph_.add_constant(network_.literal({1}, {1, 1})),
               binary(graph_, "mul", graph_.cast(backwards, DataType::Float32), number(2)));
    return binary(graph_, "add", first, binary(graph_, "mul", distance, direction));
  }

 private:
  Value row(const std::vector<float>& values) {
    return network_.literal(values, {1, std::ssize(values)});
  }
  // A column of the last four of the boxes, [N, 1].
  Var* box_column(int64_t column) {
    const int64_t at = column - 4;
    return sliced(graph_, boxes_, 1, at, at + 1);
  }
  Var* in_pixels(Var* x, int64_t axis) {
    if (scale_ != 1) x = binary(graph_, "mul", x, number(scale_));
    if (!normalized_) return x;
    const Size size = size_of(graph_, images_, axis);
    if (size.of == nullptr) {
      return binary(graph_, "mul", x, number(static_cast<float>(size.number - 1)));
    }
    Var* shape = graph_.cast(graph_.add("shape", {{"x", {images_}}}), DataType::Float32);
    Var* last = binary(graph_, "sub", sliced(graph_, shape, 0, axis, axis + 1), number(1));
    return binary(graph_, "mul", x, last);
  }

  Network& network_;
  Graph& graph_;
  Var *const images_, *const boxes_;  // [B, C, H, W] and [N, 4 or 5]
  size_t mode_ = 0, method_ = 0;
  bool normalized_ = false;
  float scale_ = 1;
};

// x along a new axis at `axis`, `count` times.
Var* repeated_along(Graph& graph, Var* x, int64_t axis, int64_t count) {
  Var* wide = expanded(graph, x, {axis});
  std::vector<int64_t> repetitions(static_cast<size_t>(graph.rank(wide)), 1);
  repetitions[static_cast<size_t>(axis)] = count;
  return graph.add("tile", {{"x", {wide}}, {"reps", {integers(repetitions)}}});
}

Var* sampled(Graph& graph, Var* images, Var* coordinates) {
  return graph.add("resample", {{"x", {images}},
                                {"coordinates", {coordinates}},
                                {"sampling_mode", {text("bilinear")}},
                                {"padding_mode", {text("border")}},
                                {"padding_value", {number(0)}},
                                {"coordinates_mode", {text("unnormalized")}},
                                {"align_corners", {flag(true)}}});
}

}  // namespace

void translate_crop_resize(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  std::vector<int64_t> size = parameters.integers({1, "targetSize"});
  if (size.empty()) size = {1, 1};
  constexpr int64_t kMost = 65536;  // the points of a row or column are listed in the program
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > kMost || size[1] > kMost) {
    fail(ErrorCode::InvalidFile, "targetSize is not two sizes up to {}", kMost);
  }
  Var* images = network.planes(network.floats(layer, 0));
  Var* given = network.real(layer, 1);
  const int64_t rank = graph.rank(given);
  if (rank < 4) fail(ErrorCode::InvalidFile, "boxes of rank {}", rank);
  const int64_t numbers = known_size(graph, given, -3);
  if (numbers != 4 && numbers != 5)
    fail(ErrorCode::InvalidFile, "a box has {} numbers, not 4 or 5", numbers);
  Var* boxes = reshaped(graph, given, std::vector<int64_t>{-1, numbers});

  CropGrid grid(network, parameters, images, boxes);
  Var* rows = repeated_along(graph, grid.points(2, size[0]), 2, size[1]);
  Var* columns = repeated_along(graph, grid.points(3, size[1]), 1, size[0]);
  Var* coordinates =
      graph.add("stack", {{"values", {columns, rows}}, {"axis", {integer(3)}}});  // [N, h, w, 2]
  if (numbers == 5) {
    Var* indices = flattened(graph, sliced(graph, boxes, 1, 0, 1));
    Var* chosen = graph.add("gather", {{"x", {images}},
                                       {"indices", {graph.cast(indices, DataType::Int32)}},
                                       {"axis", {integer(0)}}});
    Var* crops = sampled(graph, chosen, coordinates);
    return network.set(layer, 0, expanded(graph, crops, {1}));
  }
  // Every box of every image: one image of all channels for each box.
  const Size batch = size_of(graph, images, 0), channels = size_of(graph, images, 1);
  std::vector<Size> one = sizes_of(graph, images);
  one[0] = {1};
  one[1] = {-1};
  Var* together = reshaped(graph, images, one);
  Var* places = binary(graph, "mul", flattened(graph, sliced(graph, boxes, 1, 0, 1)), number(0));
  Var* chosen = graph.add("gather", {{"x", {together}},
                                     {"indices", {graph.cast(places, DataType::Int32)}},
                                     {"axis", {integer(0)}}});
  Var* crops = sampled(graph, chosen, coordinates);
  network.set(layer, 0, reshaped(graph, crops, {{-1}, batch, channels, {size[0]}, {size[1]}}));
}

}  // namespace pippin::mil::networks
