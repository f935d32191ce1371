#include "pippin/mil/networks/recurrent_steps.h"

#include "pippin/base/error.h"
#include "pippin/mil/networks/activations.h"

namespace pippin::mil::networks {
namespace {

enum RecurrentFunction : uint32_t {
  RecurrentLinearFunction = 5,
  RecurrentTanhFunction = 30,
  RecurrentScaledTanhFunction = 31,
  RecurrentSigmoidFunction = 40,
  RecurrentSigmoidHardFunction = 41
};

struct Parameters {
  float alpha, beta;
};

uint32_t function_of(const Fields& activation) {
  const std::vector<uint32_t> present = activation.field_numbers();
  if (present.empty()) fail(ErrorCode::InvalidFile, "the activation has no function");
  return present.back();
}

// The message's parameters, or the defaults if it has none.
Parameters parameters_of(const Fields& activation, uint32_t function, Parameters absent) {
  const Fields message = activation.message({function, "NonlinearityType"});
  const Parameters own{message.number({1, "alpha"}), message.number({2, "beta"})};
  return own.alpha == 0 && own.beta == 0 ? absent : own;
}

constexpr Parameters kHardDefaults{0.2F, 0.5F};

}  // namespace

std::string recurrent_activation_name(const Fields& activation) {
  const uint32_t function = function_of(activation);
  if (function == RecurrentSigmoidFunction) return "sigmoid";
  if (function == RecurrentTanhFunction) return "tanh";
  if (function != RecurrentSigmoidHardFunction) return {};
  const Parameters own = parameters_of(activation, function, kHardDefaults);
  const bool usual = own.alpha == kHardDefaults.alpha && own.beta == kHardDefaults.beta;
  return usual ? "sigmoid_hard" : "";
}

Var* recurrent_activation(Network& network, const Fields& activation, Var* sum) {
  Graph& graph = network.graph;
  Var* x = graph.add("clip", {{"x", {sum}}, {"alpha", {number(-50)}}, {"beta", {number(50)}}});
  const uint32_t function = function_of(activation);
  const auto with = [&](std::string_view op, Parameters absent) {
    const Parameters own = parameters_of(activation, function, absent);
    return graph.add(op,
                     {{"x", {x}}, {"alpha", {number(own.alpha)}}, {"beta", {number(own.beta)}}});
  };
  switch (function) {
    case RecurrentLinearFunction:
      return with("linear_activation", {1, 0});
    case RecurrentScaledTanhFunction:
      return with("scaled_tanh", {1.7159F, 2.0F / 3.0F});
    case RecurrentSigmoidHardFunction:
      return with("sigmoid_hard", kHardDefaults);
    default:
      return activated(network, activation, x);
  }
}

std::vector<Var*> run_steps(Network& network, const Run& run, const Step& step) {
  Graph& graph = network.graph;
  const auto with_length = [&](Var* x) {
    return scalar(graph, graph.add("slice_by_size", {{"x", {graph.add("shape", {{"x", {x}}})}},
                                                     {"begin", {integers({0})}},
                                                     {"size", {integers({1})}}}));
  };
  Var* length = with_length(run.x);
  std::vector<Var*> start = {graph.add_constant(integer(0))};
  start.insert(start.end(), run.states.begin(), run.states.end());
  if (run.sequence) {
    std::vector<Size> sizes = {size_of(graph, run.x, 0), size_of(graph, run.states[0], 0),
                               size_of(graph, run.states[0], 1)};
    start.push_back(
        graph.add("fill", {{"shape", size_vector(graph, sizes)}, {"value", {number(0)}}}));
  }
  std::vector<ValueInfo> infos;
  infos.reserve(start.size());
  for (const Var* var : start) {
    infos.push_back(graph.info(var));
    infos.back().elements.reset();
    infos.back().constant = nullptr;
  }
  const auto add_inputs = [&] {
    std::vector<Var*> inputs;
    inputs.reserve(infos.size());
    for (const ValueInfo& info : infos) inputs.push_back(graph.add_block_input("step", info));
    return inputs;
  };
  std::vector<std::unique_ptr<Block>> blocks;
  graph.begin_block();
  Var* more = binary(graph, "less", add_inputs()[0], length);
  blocks.push_back(graph.end_block({more}));

  graph.begin_block();
  std::vector<Var*> vars = add_inputs();
  Var* time = vars[0];
  Var* place =
      run.reverse ? binary(graph, "sub", binary(graph, "sub", length, integer(1)), time) : time;
  Var* x = graph.add("gather", {{"x", {run.x}}, {"indices", {place}}, {"axis", {integer(0)}}});
  const auto first = vars.begin() + 1;
  const std::vector<Var*> states =
      step(x, {first, first + static_cast<ptrdiff_t>(run.states.size())});
  std::vector<Var*> next = {binary(graph, "add", time, integer(1))};
  next.insert(next.end(), states.begin(), states.end());
  if (run.sequence) {
    next.push_back(graph.add("scatter", {{"data", {vars.back()}},
                                         {"indices", {expanded(graph, time, {0})}},
                                         {"updates", {expanded(graph, states[0], {0})}},
                                         {"axis", {integer(0)}},
                                         {"mode", {text("update")}}}));
  }
  blocks.push_back(graph.end_block(std::move(next)));
  std::vector<Var*> results =
      graph.add_with_blocks("while_loop", {{"loop_vars", Argument(start.begin(), start.end())}},
                            std::move(blocks), infos);
  Var* outputs = run.sequence ? results.back() : expanded(graph, results[1], {0});
  std::vector<Var*> all = {outputs};
  all.insert(all.end(), results.begin() + 1,
             results.begin() + 1 + static_cast<ptrdiff_t>(run.states.size()));
  return all;
}

}  // namespace pippin::mil::networks
