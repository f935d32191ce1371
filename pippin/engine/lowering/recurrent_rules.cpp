// lstm, gru and rnn: the products of all inputs at once, then the steps in order.
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::UnaryOp;
using mil::Dim;

RecurrentFunction function_of(const Builder& builder, const mil::Operation& operation,
                              std::string_view parameter) {
  const std::string name = string_param(builder, operation, parameter);
  if (name == "sigmoid") return {UnaryOp::Sigmoid};
  if (name == "sigmoid_hard" || name == "hard_sigmoid") return {UnaryOp::SigmoidHard, 0.2F, 0.5F};
  if (name == "tanh" || name == "scaled_tanh") return {UnaryOp::Tanh};
  if (name == "relu") return {UnaryOp::Relu};
  if (name == "linear") return {UnaryOp::Linear, 1, 0};
  fail(ErrorCode::Unsupported, "{}: {} \"{}\"", builder.where(operation), parameter, name);
}

// [rows, columns] as stored.
View weight_view(Builder& builder, const mil::Operation& operation, std::string_view parameter) {
  View view = builder.view(operation, parameter);
  if (!is_float(view.storage)) view = builder.view_as(view, Storage::F32);
  return builder.contiguous(view);
}

std::optional<View> vector_view(Builder& builder, const mil::Operation& operation,
                                std::string_view parameter) {
  if (operation.find_input(parameter) == nullptr) return std::nullopt;
  return builder.contiguous(builder.floats(operation, parameter));
}

Cell cell_of(const Builder& builder, const mil::Operation& operation) {
  if (operation.type() == "lstm") return Cell::Lstm;
  if (operation.type() == "rnn") return Cell::Rnn;
  const bool after = operation.find_input("reset_after") != nullptr &&
                     bool_param(builder, operation, "reset_after");
  return after ? Cell::GruResetAfter : Cell::Gru;
}

RecurrentNode layer_of(const Builder& builder, const mil::Operation& operation) {
  RecurrentNode layer;
  layer.name = operation.type();
  layer.cell = cell_of(builder, operation);
  layer.activation = function_of(builder, operation, "activation");
  if (layer.cell != Cell::Rnn) {
    layer.gate = function_of(builder, operation, "recurrent_activation");
  }
  layer.clip = HUGE_VALF;
  if (layer.cell == Cell::Lstm) {
    layer.of_cell = function_of(builder, operation, "cell_activation");
    if (operation.find_input("clip") != nullptr) {
      layer.clip = static_cast<float>(float_param(builder, operation, "clip"));
      if (!(layer.clip >= 0)) {
        fail(ErrorCode::Unsupported, "{}: clip is {}", builder.where(operation), layer.clip);
      }
    }
  }
  layer.sequence = bool_param(builder, operation, "output_sequence");
  return layer;
}

void recurrent(Builder& builder, const mil::Operation& operation) {
  RecurrentNode layer = layer_of(builder, operation);
  const std::string direction = string_param(builder, operation, "direction");
  const bool both = direction == "bidirectional", is_lstm = layer.cell == Cell::Lstm;
  const auto hidden = builder.shape(operation, "weight_hh").at(1).try_constant();
  const View x = builder.floats(operation, "x");
  if (!hidden || *hidden < 1 || *hidden > (int64_t{1} << 20)) {
    fail(ErrorCode::Unsupported, "{}: the size of its state", builder.where(operation));
  }
  const View inputs = builder.matrix(x, 1);
  std::vector<View> views;
  for (const auto& output : operation.outputs()) {
    views.push_back(builder.allocate(Storage::F32, builder.info(output.get()).shape));
  }
  const std::vector<View> outputs = views;
  views.push_back(
      builder.allocate(Storage::F32, {Dim(both ? 2 : 1), Dim(3), x.shape[1], Dim(*hidden)}));
  views.push_back(builder.contiguous(builder.floats(operation, "initial_h")));
  if (is_lstm) views.push_back(builder.contiguous(builder.floats(operation, "initial_c")));
  Storage storage = Storage::F32;
  const auto add = [&](const View& view) {
    views.push_back(view);
    return views.size() - 1;
  };
  for (const std::string suffix : {"", "_back"}) {
    if (suffix == "_back" && !both) continue;
    RecurrentNode::Direction side{};
    side.reverse = direction == "reverse" || suffix == "_back";
    side.in_order_of_sequence = suffix == "_back";
    // A gru adds the bias to the product with h, which it may reset; the others add it to the
    // inputs' part.
    const bool is_gru = layer.cell == Cell::Gru || layer.cell == Cell::GruResetAfter;
    const auto bias = vector_view(builder, operation, "bias" + suffix);
    const auto input_bias = is_gru ? vector_view(builder, operation, "input_bias") : bias;
    const View weight = weight_view(builder, operation, "weight_ih" + suffix);
    const View gates = builder.allocate(Storage::F32, {inputs.shape[0], weight.shape[0]});
    std::vector<View> product = {gates, inputs, weight};
    if (input_bias) product.push_back(*input_bias);
    const DotNode::Product from_inputs = {weight.shape[0].constant(), DenseWeight{weight.storage},
                                          input_bias.has_value()};
    builder.emit(DotNode{operation.type() + " inputs", {from_inputs}}, std::move(product));
    side.gates = add(gates);
    View recurrent_weight = weight_view(builder, operation, "weight_hh" + suffix);
    if (suffix == "_back") recurrent_weight = builder.view_as(recurrent_weight, storage);
    storage = recurrent_weight.storage;
    side.weight = add(recurrent_weight);
    if (is_gru && bias) side.bias = add(*bias);
    if (const auto peephole = is_lstm ? vector_view(builder, operation, "peephole" + suffix)
                                      : std::optional<View>()) {
      side.peephole = add(*peephole);
    }
    layer.directions.push_back(side);
  }
  const size_t num_written = layer.num_written();
  builder.emit(std::move(layer), std::move(views), num_written);
  for (size_t i = 0; i < outputs.size(); ++i) builder.define(operation.output(i), outputs[i]);
}

}  // namespace

void add_recurrent_rules(Rules& rules) {
  for (const std::string_view op : {"gru", "lstm", "rnn"}) rules[op] = recurrent;
}

}  // namespace pippin::engine
