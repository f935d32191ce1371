// Recurrent layers: MIL's ops if they support the activation functions, otherwise loops.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/lstm.h"
#include "pippin/mil/networks/recurrent_steps.h"

namespace pippin::mil::networks {
namespace {

// The parameters that all recurrent layers have.
struct Recurrence {
  int64_t inputs, outputs;
  bool sequence, biased;

  explicit Recurrence(const Fields& parameters)
      : inputs(parameters.integer({1, "inputVectorSize"})),
        outputs(parameters.integer({2, "outputVectorSize"})),
        sequence(parameters.flag({15, "sequenceOutput"})),
        biased(parameters.flag({20, "hasBiasVector"})) {}
};

// [sequence, batch, inputs] of the layer's first input.
Var* sequence_input(Network& network, const Layer& layer) {
  Var* x = network.real(layer, 0);
  const int64_t rank = network.graph.rank(x);
  if (rank == 5) return squeezed(network.graph, x, {3, 4});
  if (rank != 3) fail(ErrorCode::InvalidFile, "an input of rank {}, not 5", rank);
  return x;
}

// [batch, outputs] of an input, or zeros.
Var* state_input(Network& network, const Layer& layer, size_t index, Var* x, int64_t outputs) {
  Graph& graph = network.graph;
  if (index < layer.inputs.size()) {
    Var* state = network.real(layer, index);
    return reshaped(graph, state, std::vector<int64_t>{-1, outputs});
  }
  return graph.add("fill", {{"shape", size_vector(graph, {size_of(graph, x, 1), {outputs}})},
                            {"value", {number(0)}}});
}

// Sets an output of shape [sequence, batch, outputs] or [batch, outputs] with its five axes.
void set_rank5(Network& network, const Layer& layer, size_t index, Var* var) {
  if (network.graph.rank(var) == 2) var = expanded(network.graph, var, {0});
  network.set(layer, index, expanded(network.graph, var, {3, 4}));
}

void set_results(Network& network, const Layer& layer, const std::vector<Var*>& results) {
  for (size_t i = 0; i < results.size(); ++i) set_rank5(network, layer, i, results[i]);
}

// The matrices of several fields, stacked vertically.
Var* stacked(Network& network, const Fields& parameters, const std::vector<Field>& fields,
             const std::vector<int64_t>& shape) {
  std::vector<std::shared_ptr<const TensorSource>> parts;
  parts.reserve(fields.size());
  for (const Field& field : fields) {
    parts.push_back(network.weight_source(parameters, field, shape));
  }
  std::vector<int64_t> whole = shape;
  whole[0] *= std::ssize(fields);
  return network.constant(joined_source(std::move(parts)), whole);
}

Var* product(Graph& graph, Var* x, Var* weight, Var* bias) {
  Graph::Arguments arguments = {{"x", {x}}, {"weight", {weight}}};
  if (bias != nullptr) arguments.push_back({"bias", {bias}});
  return graph.add("linear", std::move(arguments));
}

void translate_simple_recurrent(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  const Recurrence shape(parameters);
  const Fields activation = parameters.message({10, "activation"});
  const std::string function = recurrent_activation_name(activation);
  Var* x = sequence_input(network, layer);
  Var* h = state_input(network, layer, 1, x, shape.outputs);
  Var* weight = network.weights(parameters, {30, "weightMatrix"}, {shape.outputs, shape.inputs});
  Var* recursion =
      network.weights(parameters, {31, "recursionMatrix"}, {shape.outputs, shape.outputs});
  Var* bias =
      shape.biased ? network.weights(parameters, {32, "biasVector"}, {shape.outputs}) : nullptr;
  const bool reverse = parameters.flag({100, "reverseInput"});
  if (function.empty()) {
    const auto step = [&](Var* input, const std::vector<Var*>& states) -> std::vector<Var*> {
      Var* sum = binary(graph, "add", product(graph, input, weight, bias),
                        product(graph, states[0], recursion, nullptr));
      return {recurrent_activation(network, activation, sum)};
    };
    return set_results(network, layer, run_steps(network, {x, {h}, reverse, shape.sequence}, step));
  }
  Graph::Arguments arguments = {{"x", {x}},
                                {"initial_h", {h}},
                                {"weight_ih", {weight}},
                                {"weight_hh", {recursion}},
                                {"direction", {text(reverse ? "reverse" : "forward")}},
                                {"output_sequence", {flag(shape.sequence)}},
                                {"activation", {text(function)}}};
  if (bias != nullptr) arguments.push_back({"bias", {bias}});
  set_results(network, layer, graph.add_many("rnn", std::move(arguments)));
}

// Fields by gate: update, reset, output.
struct GruFields {
  Field weight, recursion, bias;
};
constexpr GruFields kUpdate{{30, "updateGateWeightMatrix"},
                            {50, "updateGateRecursionMatrix"},
                            {70, "updateGateBiasVector"}};
constexpr GruFields kReset{
    {31, "resetGateWeightMatrix"}, {51, "resetGateRecursionMatrix"}, {71, "resetGateBiasVector"}};
constexpr GruFields kOutput{{32, "outputGateWeightMatrix"},
                            {52, "outputGateRecursionMatrix"},
                            {72, "outputGateBiasVector"}};

std::vector<Var*> gru_by_steps(Network& network, const Fields& parameters, const Recurrence& shape,
                               const std::vector<Fields>& functions, const Run& run) {
  Graph& graph = network.graph;
  struct Gate {
    Var *weight, *recursion, *bias;
  };
  const auto gate_of = [&](const GruFields& fields) {
    return Gate{network.weights(parameters, fields.weight, {shape.outputs, shape.inputs}),
                network.weights(parameters, fields.recursion, {shape.outputs, shape.outputs}),
                shape.biased ? network.weights(parameters, fields.bias, {shape.outputs}) : nullptr};
  };
  const Gate update = gate_of(kUpdate), reset = gate_of(kReset), output = gate_of(kOutput);
  return run_steps(network, run, [&](Var* x, const std::vector<Var*>& states) -> std::vector<Var*> {
    const auto opened = [&](const Gate& gate, Var* state, const Fields& function) {
      Var* sum = binary(graph, "add", product(graph, x, gate.weight, gate.bias),
                        product(graph, state, gate.recursion, nullptr));
      return recurrent_activation(network, function, sum);
    };
    Var* h = states[0];
    Var* z = opened(update, h, functions[0]);
    Var* r = opened(reset, h, functions[0]);
    Var* o = opened(output, binary(graph, "mul", r, h), functions[1]);
    Var* kept = binary(graph, "mul", z, h);
    Var* rest = graph.add("sub", {{"x", {number(1)}}, {"y", {z}}});
    return {binary(graph, "add", binary(graph, "mul", rest, o), kept)};
  });
}

void translate_gru(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const Recurrence shape(parameters);
  const std::vector<Fields> functions =
      activations_or(parameters.messages({10, "activations"}), {40, 30});
  Var* x = sequence_input(network, layer);
  Var* h = state_input(network, layer, 1, x, shape.outputs);
  const bool reverse = parameters.flag({100, "reverseInput"});
  const std::string gate = recurrent_activation_name(functions[0]);
  const std::string output = recurrent_activation_name(functions[1]);
  if (gate.empty() || output.empty()) {
    return set_results(
        network, layer,
        gru_by_steps(network, parameters, shape, functions, {x, {h}, reverse, shape.sequence}));
  }
  Graph::Arguments arguments = {
      {"x", {x}},
      {"initial_h", {h}},
      {"weight_ih",
       {stacked(network, parameters, {kReset.weight, kOutput.weight, kUpdate.weight},
                {shape.outputs, shape.inputs})}},
      {"weight_hh",
       {stacked(network, parameters, {kReset.recursion, kOutput.recursion, kUpdate.recursion},
                {shape.outputs, shape.outputs})}},
      {"direction", {text(reverse ? "reverse" : "forward")}},
      {"output_sequence", {flag(shape.sequence)}},
      {"activation", {text(output)}},
      {"recurrent_activation", {text(gate)}}};
  if (shape.biased) {
    arguments.push_back({"bias",
                         {stacked(network, parameters, {kReset.bias, kOutput.bias, kUpdate.bias},
                                  {shape.outputs})}});
  }
  set_results(network, layer, network.graph.add_many("gru", std::move(arguments)));
}

void translate_lstm(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  LstmLayer lstm(parameters);
  Var* x = sequence_input(network, layer);
  Var* h = state_input(network, layer, 1, x, lstm.outputs);
  Var* c = state_input(network, layer, 2, x, lstm.outputs);
  set_results(network, layer,
              lstm.run(network, parameters.message({20, "weightParams"}),
                       parameters.messages({10, "activations"}), {x, {h, c}},
                       parameters.flag({100, "reverseInput"})));
}

// Two layers; the second runs backwards, and its outputs are reversed into time order.
void translate_bidirectional_lstm(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  LstmLayer lstm(parameters);
  const std::vector<Fields> weights = parameters.messages({20, "weightParams"});
  if (weights.size() != 2)
    fail(ErrorCode::InvalidFile, "the layer has {} sets of weights, it needs 2", weights.size());
  Var* x = sequence_input(network, layer);
  const auto state = [&](size_t index) {
    return state_input(network, layer, index, x, lstm.outputs);
  };
  const std::vector<Var*> forward =
      lstm.run(network, weights[0], parameters.messages({10, "activationsForwardLSTM"}),
               {x, {state(1), state(2)}}, false);
  std::vector<Var*> backward =
      lstm.run(network, weights[1], parameters.messages({11, "activationsBackwardLSTM"}),
               {x, {state(3), state(4)}}, true);
  if (lstm.sequence) {
    backward[0] = graph.add("reverse", {{"x", {backward[0]}}, {"axes", {integers({0})}}});
  }
  set_rank5(network, layer, 0, concatenated(graph, {forward[0], backward[0]}, 2));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    set_rank5(network, layer, i, forward[i]);
    set_rank5(network, layer, i + 2, backward[i]);
  }
}

}  // namespace

std::span<const LayerKind> recurrent_layers() {
  static constexpr LayerKind kKinds[] = {{400, "simpleRecurrent", translate_simple_recurrent},
                                         {410, "gru", translate_gru},
                                         {420, "uniDirectionalLSTM", translate_lstm},
                                         {430, "biDirectionalLSTM", translate_bidirectional_lstm}};
  return kKinds;
}

}  // namespace pippin::mil::networks
