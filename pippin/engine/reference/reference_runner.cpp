#include "pippin/engine/reference/reference_runner.h"

#include <cstring>

#include "pippin/engine/reference/reference.h"

namespace pippin::engine {
namespace {

class ReferenceRunner : public Runner {
 public:
  ReferenceRunner(const mil::Model& model, std::string_view function, const RunnerOptions& options)
      : states_(model.description(function).states),
        interpreter_(model.program, function, reference_options(options)) {}

  NamedHostTensors run(const NamedHostTensors& inputs, State& state) override {
    std::map<std::string, mil::Tensor> tensors;
    for (const auto& [name, input] : inputs) tensors.emplace(name, to_tensor(input));
    ReferenceState values;
    for (const mil::Feature& feature : states_) {
      values.states[feature.name] =
          mil::tensor_from_bytes(feature.data_type, feature.shape, state.read(feature.name));
    }
    NamedHostTensors outputs;
    for (const auto& [name, tensor] : interpreter_.run(tensors, values)) {
      outputs.emplace(name, to_host(tensor));
    }
    for (const mil::Feature& feature : states_) {
      state.write(feature.name, mil::to_bytes(values.states.at(feature.name)));
    }
    return outputs;
  }

  std::string describe() const override { return "the reference interpreter\n"; }

 private:
  static ReferenceOptions reference_options(const RunnerOptions& options) {
    ReferenceOptions result;
    result.max_elements = options.max_elements;
    result.max_loop_turns = options.max_iterations;
    return result;
  }

  std::vector<mil::Feature> states_;
  ReferenceInterpreter interpreter_;
};

}  // namespace

std::unique_ptr<Runner> make_reference_runner(const mil::Model& model, std::string_view function,
                                              const RunnerOptions& options) {
  return std::make_unique<ReferenceRunner>(model, function, options);
}

}  // namespace pippin::engine
