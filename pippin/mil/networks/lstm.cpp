#include "pippin/mil/networks/lstm.h"

#include <algorithm>
#include <array>

#include "pippin/base/error.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kLstmParams{15, "params"};

// Gates in the order of the file: input, forget, block input, output.
enum LstmGate : size_t { LstmInputGate, LstmForgetGate, LstmBlockInput, LstmOutputGate };

constexpr Field kGateWeights[] = {{1, "inputGateWeightMatrix"},
                                  {2, "forgetGateWeightMatrix"},
                                  {3, "blockInputWeightMatrix"},
                                  {4, "outputGateWeightMatrix"}};
constexpr Field kGateRecursions[] = {{20, "inputGateRecursionMatrix"},
                                     {21, "forgetGateRecursionMatrix"},
                                     {22, "blockInputRecursionMatrix"},
                                     {23, "outputGateRecursionMatrix"}};
constexpr Field kGateBiases[] = {{40, "inputGateBiasVector"},
                                 {41, "forgetGateBiasVector"},
                                 {42, "blockInputBiasVector"},
                                 {43, "outputGateBiasVector"}};
constexpr Field kPeepholes[] = {{60, "inputGatePeepholeVector"},
                                {61, "forgetGatePeepholeVector"},
                                {62, "outputGatePeepholeVector"}};

// The order of MIL's lstm.
constexpr LstmGate kOpOrder[] = {LstmInputGate, LstmForgetGate, LstmOutputGate, LstmBlockInput};

// The bytes of a message with one empty message in the field: a tag of two bytes, length 0.
Fields empty_function(uint32_t field) {
  static constexpr std::byte kSigmoid[] = {std::byte{0xc2}, std::byte{0x02}, std::byte{0}};
  static constexpr std::byte kTanh[] = {std::byte{0xf2}, std::byte{0x01}, std::byte{0}};
  return Fields(field == 40 ? ByteSpan(kSigmoid) : ByteSpan(kTanh));
}

}  // namespace

std::vector<Fields> activations_or(std::vector<Fields> messages,
                                   const std::vector<uint32_t>& absent) {
  if (messages.empty()) {
    messages.reserve(absent.size());
    for (const uint32_t field : absent) messages.push_back(empty_function(field));
  }
  if (messages.size() != absent.size()) {
    fail(ErrorCode::InvalidFile, "the layer has {} activations, it needs {}", messages.size(),
         absent.size());
  }
  return messages;
}

LstmLayer::LstmLayer(const Fields& parameters)
    : inputs(parameters.integer({1, "inputVectorSize"})),
      outputs(parameters.integer({2, "outputVectorSize"})),
      sequence(parameters.message(kLstmParams).flag({10, "sequenceOutput"})),
      biased_(parameters.message(kLstmParams).flag({20, "hasBiasVectors"})),
      forget_bias_(parameters.message(kLstmParams).flag({30, "forgetBias"})),
      peepholes_(parameters.message(kLstmParams).flag({40, "hasPeepholeVectors"})),
      coupled_(parameters.message(kLstmParams).flag({50, "coupledInputAndForgetGate"})),
      clip_(parameters.message(kLstmParams).number({60, "cellClipThreshold"})) {
  if (inputs < 1 || outputs < 1) {
    fail(ErrorCode::InvalidFile,
         "inputVectorSize is {} and outputVectorSize {}; both must be above 0", inputs, outputs);
  }
}

std::vector<float> LstmLayer::bias(Network& network, const Fields& weights, const Field& field,
                                   bool of_forget_gate) const {
  std::vector<float> values(static_cast<size_t>(outputs), 0);
  if (biased_) values = read_floats(*network.weight_source(weights, field, {outputs}));
  if (of_forget_gate && forget_bias_) {
    for (float& value : values) value += 1;
  }
  return values;
}

std::vector<Var*> LstmLayer::run(Network& network, const Fields& weights,
                                 std::vector<Fields> functions, Run run, bool reverse) const {
  functions = activations_or(std::move(functions), {40, 30, 30});
  run.reverse = reverse;
  run.sequence = sequence;
  std::vector<std::string> names;
  names.reserve(functions.size());
  for (const Fields& function : functions) names.push_back(recurrent_activation_name(function));
  const bool known = std::none_of(names.begin(), names.end(),
                                  [](const std::string& name) { return name.empty(); });
  return known && !coupled_ ? run_op(network, weights, names, run)
                            : run_loop(network, weights, functions, run);
}

std::vector<Var*> LstmLayer::run_op(Network& network, const Fields& weights,
                                    const std::vector<std::string>& names, const Run& run) const {
  const auto stacked = [&](std::span<const Field> fields, const std::vector<int64_t>& shape) {
    std::vector<std::shared_ptr<const TensorSource>> parts;
    for (const LstmGate gate : kOpOrder) {
      parts.push_back(network.weight_source(weights, fields[gate], shape));
    }
    return network.constant(joined_source(std::move(parts)), {4 * outputs, shape[1]});
  };
  Graph::Arguments arguments = {{"x", {run.x}},
                                {"initial_h", {run.states[0]}},
                                {"initial_c", {run.states[1]}},
                                {"weight_ih", {stacked(kGateWeights, {outputs, inputs})}},
                                {"weight_hh", {stacked(kGateRecursions, {outputs, outputs})}},
                                {"direction", {text(run.reverse ? "reverse" : "forward")}},
                                {"output_sequence", {flag(run.sequence)}},
                                {"recurrent_activation", {text(names[0])}},
                                {"cell_activation", {text(names[1])}},
                                {"activation", {text(names[2])}},
                                {"clip", {number(clip_ == 0 ? 50 : clip_)}}};
  if (biased_ || forget_bias_) {
    std::vector<float> values;
    for (const LstmGate gate : kOpOrder) {
      const std::vector<float> part =
          bias(network, weights, kGateBiases[gate], gate == LstmForgetGate);
      values.insert(values.end(), part.begin(), part.end());
    }
    arguments.push_back({"bias", {network.constant(float_source(values), {4 * outputs})}});
  }
  if (peepholes_) {
    std::vector<std::shared_ptr<const TensorSource>> parts;
    for (const Field& field : kPeepholes) {
      parts.push_back(network.weight_source(weights, field, {outputs}));
    }
    arguments.push_back(
        {"peephole", {network.constant(joined_source(std::move(parts)), {3 * outputs})}});
  }
  return network.graph.add_many("lstm", std::move(arguments));
}

std::vector<Var*> LstmLayer::run_loop(Network& network, const Fields& weights,
                                      const std::vector<Fields>& functions, const Run& run) const {
  Graph& graph = network.graph;
  std::array<Var*, 4> weight{}, recursion{}, offset{};
  std::array<Var*, 3> peephole{};
  for (const size_t gate : {LstmInputGate, LstmForgetGate, LstmBlockInput, LstmOutputGate}) {
    if (coupled_ && gate == LstmForgetGate) continue;
    weight[gate] = network.weights(weights, kGateWeights[gate], {outputs, inputs});
    recursion[gate] = network.weights(weights, kGateRecursions[gate], {outputs, outputs});
    const std::vector<float> values =
        bias(network, weights, kGateBiases[gate], gate == LstmForgetGate);
    offset[gate] = network.constant(float_source(values), {outputs});
  }
  for (size_t i = 0; i < peephole.size() && peepholes_; ++i) {
    if (coupled_ && i == LstmForgetGate) continue;
    peephole[i] = network.weights(weights, kPeepholes[i], {outputs});
  }
  const float limit = clip_ == 0 ? 50 : clip_;
  return run_steps(network, run, [&](Var* x, const std::vector<Var*>& states) {
    Var *h = states[0], *c = states[1];
    const auto opened = [&](LstmGate gate, Var* watched, Var* cell, const Fields& function) {
      Var* sum = binary(
          graph, "add",
          graph.add("linear", {{"x", {x}}, {"weight", {weight[gate]}}, {"bias", {offset[gate]}}}),
          graph.add("linear", {{"x", {h}}, {"weight", {recursion[gate]}}}));
      if (watched != nullptr) sum = binary(graph, "add", sum, binary(graph, "mul", watched, cell));
      return recurrent_activation(network, function, sum);
    };
    Var* input = opened(LstmInputGate, peephole[0], c, functions[0]);
    Var* forget = coupled_ ? graph.add("sub", {{"x", {number(1)}}, {"y", {input}}})
                           : opened(LstmForgetGate, peephole[1], c, functions[0]);
    Var* block = opened(LstmBlockInput, nullptr, nullptr, functions[1]);
    Var* sum =
        binary(graph, "add", binary(graph, "mul", forget, c), binary(graph, "mul", input, block));
    Var* next =
        graph.add("clip", {{"x", {sum}}, {"alpha", {number(-limit)}}, {"beta", {number(limit)}}});
    Var* output = opened(LstmOutputGate, peephole[2], next, functions[0]);
    Var* result = binary(graph, "mul", recurrent_activation(network, functions[2], next), output);
    return std::vector<Var*>{result, next};
  });
}

}  // namespace pippin::mil::networks
