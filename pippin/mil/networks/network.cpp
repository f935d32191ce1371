#include "pippin/mil/networks/network.h"

#include "pippin/base/error.h"
#include "pippin/mil/networks/compressed_constant.h"
#include "pippin/mil/networks/element_source.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil::networks {

void require_inputs(const Layer& layer, size_t count) {
  if (layer.inputs.size() >= count) return;
  fail(ErrorCode::InvalidFile, "the layer has {} inputs, it needs {}", layer.inputs.size(), count);
}

int64_t known_size(const Graph& graph, const Var* var, int64_t axis) {
  const Shape& shape = graph.shape(var);
  axis = axis_of(axis, std::ssize(shape));
  if (const auto size = shape[static_cast<size_t>(axis)].try_constant()) return *size;
  fail(ErrorCode::Unsupported, "axis {} of a tensor {}, whose size is not fixed", axis,
       to_string(shape));
}

Slot Network::slot(const Layer& layer, size_t index) const {
  require_inputs(layer, index + 1);
  const auto value = values.find(layer.inputs[index]);
  if (value == values.end()) {
    fail(ErrorCode::InvalidFile, "no earlier layer produces '{}'", layer.inputs[index]);
  }
  return value->second;
}

Slot Network::floats(const Layer& layer, size_t index) {
  Slot result = slot(layer, index);
  result.var = graph.cast(result.var, DataType::Float32);
  return result;
}

Var* Network::full(const Slot& slot) {
  return slot.led ? expanded(graph, slot.var, {0}) : slot.var;
}

Var* Network::any(const Layer& layer, size_t index) {
  return full(slot(layer, index));
}

Var* Network::real(const Layer& layer, size_t index) {
  return full(floats(layer, index));
}

Var* Network::integral(const Layer& layer, size_t index) {
  return graph.cast(any(layer, index), DataType::Int32);
}

Var* Network::to_truth(Var* var) {
  if (graph.type(var) == DataType::Bool) return var;
  const Value zero = graph.type(var) == DataType::Int32 ? integer(0) : number(0);
  return binary(graph, "not_equal", var, zero);
}

Var* Network::truth(const Layer& layer, size_t index) {
  return to_truth(any(layer, index));
}

void Network::set(const Layer& layer, size_t index, Var* var) {
  if (index >= layer.outputs.size()) return;  // results without a name in the network
  if (graph.rank(var) == 0) var = expanded(graph, var, {0});
  values.insert_or_assign(layer.outputs[index], Slot{var});
}

void Network::set(const Layer& layer, Var* var, const Slot& like) {
  if (layer.outputs.empty()) return;
  if (graph.rank(var) == 0) var = expanded(graph, var, {0});
  values.insert_or_assign(layer.outputs.front(), Slot{var, like.led});
}

Var* Network::planes(const Slot& slot) {
  Var* x = slot.var;
  switch (graph.rank(x)) {
    case 3:
      return expanded(graph, x, {0});
    case 4:
      return x;
    case 5: {
      if (graph.shape(x)[0] == Dim(1)) return squeezed(graph, x, {0});
      std::vector<Size> sizes = sizes_of(graph, x);
      sizes.erase(sizes.begin());
      sizes[0] = {-1};
      return reshaped(graph, x, sizes);
    }
    default:
      fail(ErrorCode::InvalidFile, "an input {}, not with channels, rows and columns",
           to_string(graph.shape(x)));
  }
}

void Network::set_planes(const Layer& layer, Var* planes, const Slot& like) {
  Var* result = planes;
  if (graph.rank(like.var) == 3) {
    result = squeezed(graph, planes, {0});
  } else if (graph.rank(like.var) == 5) {
    const Shape& before = graph.shape(like.var);
    if (before[0] == Dim(1)) {
      // The sequence axis is left out from here on.
      if (layer.outputs.empty()) return;
      values.insert_or_assign(layer.outputs.front(), Slot{planes, true});
      return;
    }
    std::vector<Size> sizes = sizes_of(graph, planes);
    sizes[0] = {-1};
    sizes.insert(sizes.begin(), size_of(graph, like.var, 0));
    if (sizes[0].of != nullptr && before[1].is_constant()) {
      sizes[0] = {-1};
      sizes[1] = {before[1].constant()};
    }
    result = reshaped(graph, planes, sizes);
  }
  set(layer, result, Slot{nullptr, like.led});
}

bool Network::has_weights(const Fields& parameters, const Field& field) {
  const Fields message = parameters.message(field);
  return networks::has_weights(message) || message.has(kGivenWeights);
}

std::shared_ptr<const TensorSource> Network::weight_source(const Fields& parameters,
                                                           const Field& field,
                                                           const std::vector<int64_t>& shape,
                                                           size_t channel_axis) {
  return with_context(field.name, [&] {
    const Fields message = parameters.message(field);
    if (!message.has(kGivenWeights)) {
      return networks::weight_source(message, shape, owner, channel_axis);
    }
    const auto position = static_cast<size_t>(message.integer(kGivenWeights));
    const auto count = static_cast<uint64_t>(num_elements(shape));
    if (position >= given_weights.size() ||
        given_weights[position]->size() / sizeof(float) != count) {
      fail(ErrorCode::InvalidFile, "no weights of {} elements", count);
    }
    return given_weights[position];
  });
}

Var* Network::weights(const Fields& parameters, const Field& field,
                      const std::vector<int64_t>& shape, size_t channel_axis) {
  return constant(weight_source(parameters, field, shape, channel_axis), shape);
}

Var* Network::constant(std::shared_ptr<const TensorSource> source,
                       const std::vector<int64_t>& shape) {
  if (const auto form = compressed_form(*source)) {
    if (Var* var = compressed_constant(graph, *form, shape)) return var;
  }
  return graph.add_constant(
      Value::of_source(ValueType::tensor(DataType::Float32, shape), std::move(source)));
}

Value Network::literal(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  const std::vector<double> wide(values.begin(), values.end());
  return Value::of_floats(DataType::Float32, wide, shape);
}

}  // namespace pippin::mil::networks
