// The outputs of a network.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/interface.h"

namespace pippin::mil::networks {
namespace {

// Channels, rows and columns of the rank-5 mapping; a vector if the model declares one.
Var* without_leading_axes(Graph& graph, Var* x, const Feature& feature) {
  // Sequences keep their axes.
  if (graph.rank(x) == 5 && !(graph.shape(x)[0] == Dim(1) && graph.shape(x)[1] == Dim(1))) {
    return x;
  }
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < graph.rank(x) - 3; ++axis) {
    if (!(graph.shape(x)[static_cast<size_t>(axis)] == Dim(1))) return x;
    axes.push_back(axis);
  }
  const int64_t rank = graph.rank(x);
  const auto is_one = [&](int64_t axis) {
    return graph.shape(x)[static_cast<size_t>(axis)] == Dim(1);
  };
  if (feature.shape.size() == 1 && rank >= 3 && is_one(rank - 2) && is_one(rank - 1)) {
    axes.push_back(rank - 2);
    axes.push_back(rank - 1);
  }
  return squeezed(graph, x, axes);
}

// Networks with images may declare fewer axes than their tensors have.
Var* with_declared_rank(Graph& graph, Var* x, const Feature& feature) {
  if (feature.shape.empty() || std::ssize(feature.shape) >= graph.rank(x)) return x;
  int64_t declared = 1;
  for (const int64_t size : feature.shape) declared *= size;
  const Dim count = num_elements(graph.shape(x));
  return count == Dim(declared) ? reshaped(graph, x, feature.shape) : x;
}

// Describes the array that the program returns.
void describe(Feature& feature, const ValueInfo& info) {
  feature.ranges.clear();
  feature.enumerated_shapes.clear();
  feature.shape.clear();
  const auto shape = constant_shape(info.shape);
  if (shape) feature.shape = *shape;
}

}  // namespace

Var* make_output(Network& network, Feature& feature) {
  Graph& graph = network.graph;
  const auto value = network.values.find(feature.name);
  if (value == network.values.end()) fail(ErrorCode::InvalidFile, "no layer produces it");
  Slot slot = value->second;
  const bool image = feature.kind == Feature::Kind::Image;
  if (!image && feature.kind != Feature::Kind::MultiArray &&
      feature.kind != Feature::Kind::Double && feature.kind != Feature::Kind::Int64) {
    fail(ErrorCode::InvalidFile, "the outputs of networks are arrays, images and numbers");
  }
  Var* x = nullptr;
  if (image) {
    slot.var = graph.cast(slot.var, DataType::Float32);
    x = network.planes(slot);
  } else {
    if (feature.data_type == DataType::Float64) feature.data_type = DataType::Float32;
    const bool number = feature.kind != Feature::Kind::MultiArray;
    const bool planes = network.rank5 && (slot.led || graph.rank(slot.var) == 5);
    x = planes ? without_leading_axes(graph, slot.var, feature) : network.full(slot);
    if (network.has_images && !network.rank5) x = with_declared_rank(graph, x, feature);
    x = graph.cast(x, number ? DataType::Float32 : feature.data_type);
    if (number) x = reshaped(graph, x, std::vector<int64_t>{1});
  }
  if (x->producer == nullptr && x->name == feature.name) return x;  // an input as it is
  // A program has each name once.
  if (graph.has_input(feature.name)) feature.name = graph.free_name(feature.name);
  Var* output = graph.add("identity", {{"x", {x}}}, feature.name);
  if (feature.kind == Feature::Kind::MultiArray) describe(feature, graph.info(output));
  return output;
}

}  // namespace pippin::mil::networks
