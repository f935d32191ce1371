// Packages made with coremltools (data/coremltools) through plans.
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/compare.h"
#include "pippin/engine/plan.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

mil::Tensor output_tensor(const Execution& execution, size_t index) {
  mil::Tensor tensor(mil::DataType::Float64, execution.output_shape(index));
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = execution.plan().outputs()[index].is_float
                           ? static_cast<double>(execution.float_output(index)[i])
                           : static_cast<double>(execution.int_output(index)[i]);
  }
  return tensor;
}

mil::Tensor state_tensor(State& state, const mil::Feature& feature) {
  return mil::tensor_from_bytes(feature.data_type, feature.shape, state.read(feature.name));
}

// Every step of NAME.json with the inputs, outputs and states of NAME.npz, all steps with one
// State.
void run_package(const fs::path& root, const std::string& name, const CpuLevel& level,
                 Precision precision) {
  const bool fast = precision == Precision::Fast;
  SCOPED_TRACE(name + " " + level.name + (fast ? " fast" : " exact"));
  const Json description = Json::load(root / (name + ".json"));
  const mil::Model model = mil::read_package(root / (name + ".mlpackage"));
  const NpzFile arrays = NpzFile::open(root / (name + ".npz"));
  // 8-bit activations lose about as much accuracy as the fp16 arithmetic that made the expected
  // outputs.
  const double slack = fast ? 2 : 1;
  const Tolerance tolerance{slack * description.get_float("atol"),
                            slack * description.get_float("rtol"), 0, true};
  PlanOptions options;
  options.compute.precision = precision;
  options.compute.cpu = level.cpu;
  ThreadPool pool(2);
  std::map<std::string, std::unique_ptr<Execution>> executions;
  std::unique_ptr<State> state;
  const std::vector<Json> steps = description.at("steps").elements();
  for (size_t step = 0; step < steps.size(); ++step) {
    const std::string function = steps[step].get_string("function");
    auto& execution = executions[function];
    if (!execution) {
      execution = std::make_unique<Execution>(Plan::make(model, function, options), pool);
    }
    if (!state) state = std::make_unique<State>(execution->plan().states());
    const auto inputs = load_tensors(arrays, fmt::format("s{}.in.", step));
    std::vector<std::vector<int64_t>> shapes;
    for (const Port& port : execution->plan().inputs())
      shapes.push_back(inputs.at(port.name).shape);
    execution->bind(shapes, *state);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Port& port = execution->plan().inputs()[i];
      const std::vector<double>& values = inputs.at(port.name).values;
      for (size_t k = 0; k < values.size(); ++k) {
        if (port.is_float) {
          execution->float_input(i)[k] = static_cast<float>(values[k]);
        } else {
          execution->int_input(i)[k] = static_cast<int32_t>(values[k]);
        }
      }
    }
    execution->run();
    for (const auto& [output, expected] : load_tensors(arrays, fmt::format("s{}.out.", step))) {
      bool found = false;
      for (size_t i = 0; i < execution->plan().outputs().size(); ++i) {
        if (execution->plan().outputs()[i].name != output) continue;
        found = true;
        EXPECT_EQ(difference(output_tensor(*execution, i), expected, tolerance), "")
            << output << " " << step;
      }
      EXPECT_TRUE(found) << output;
    }
    const auto states = load_tensors(arrays, fmt::format("s{}.state.", step));
    for (const mil::Feature& feature : execution->plan().states()) {
      if (!states.contains(feature.name)) continue;
      EXPECT_EQ(difference(state_tensor(*state, feature), states.at(feature.name), tolerance), "")
          << feature.name << " " << step;
    }
  }
}

class PlanPackages : public testing::TestWithParam<std::string> {};

TEST_P(PlanPackages, GiveTheirOutputs) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  for (const CpuLevel& level : cpu_levels(detect_cpu())) {
    run_package(root, GetParam(), level, Precision::Exact);
    run_package(root, GetParam(), level, Precision::Fast);
  }
}

INSTANTIATE_TEST_SUITE_P(Coremltools, PlanPackages,
                         testing::Values("llama_stateful", "llama_int4_block32",
                                         "llama_int8_per_channel", "llama_lut4_grouped8",
                                         "llama_lut4_tensor", "llama_lut6_tensor",
                                         "llama_multifunction", "g_enumerated_fp32"),
                         [](const auto& test) { return test.param; });
}  // namespace
}  // namespace pippin::engine
