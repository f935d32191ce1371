// Runs packages made by other programs: coremltools' (data/coremltools) and published ones
// (data/packages).
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/compare.h"
#include "pippin/engine/runner.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

class RunnerPackages : public testing::TestWithParam<std::string> {};

mil::Tensor values_of(const HostTensor& host) {
  mil::Tensor tensor = to_tensor(host);
  tensor.type = mil::DataType::Float64;
  return tensor;
}

// Every step of NAME.json with the inputs, outputs and states of NAME.npz, all with one State.
void run_package(const fs::path& root, const std::string& name, const RunnerOptions& options) {
  const Json description = Json::load(root / (name + ".json"));
  const mil::Model model = mil::read_package(root / (name + ".mlpackage"));
  const NpzFile arrays = NpzFile::open(root / (name + ".npz"));
  const Tolerance tolerance{description.get_float("atol"), description.get_float("rtol"), 0, true};
  ThreadPool pool(2);
  std::map<std::string, std::unique_ptr<Runner>> runners;
  const auto steps = description.at("steps").elements();
  const auto& states = model.description(steps.at(0).get_string("function")).states;
  State state(states);
  for (size_t step = 0; step < steps.size(); ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    const std::string function = steps[step].get_string("function");
    auto& runner = runners[function];
    if (!runner) runner = Runner::make(model, function, pool, options);
    NamedHostTensors inputs;
    for (const auto& [input, tensor] : load_tensors(arrays, fmt::format("s{}.in.", step))) {
      inputs.emplace(input, to_host(tensor));
    }
    const NamedHostTensors outputs = runner->run(inputs, state);
    for (const auto& [output, expected] : load_tensors(arrays, fmt::format("s{}.out.", step))) {
      const auto found = outputs.find(output);
      ASSERT_NE(found, outputs.end()) << output;
      EXPECT_EQ(difference(values_of(found->second), expected, tolerance), "") << output;
    }
    for (const auto& [var, expected] : load_tensors(arrays, fmt::format("s{}.state.", step))) {
      const auto feature =
          std::find_if(states.begin(), states.end(),
                       [&name = var](const auto& entry) { return entry.name == name; });
      ASSERT_NE(feature, states.end()) << var;
      const mil::Tensor actual =
          mil::tensor_from_bytes(feature->data_type, feature->shape, state.read(var));
      EXPECT_EQ(difference(actual, expected, tolerance), "") << var;
    }
  }
}

TEST_F(RunnerPackages, CoremltoolsPackagesGiveTheirOutputs) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() != ".mlpackage") continue;
    ++count;
    const std::string name = entry.path().stem().string();
    for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
      SCOPED_TRACE(name + " " + level);
      RunnerOptions options;
      options.compute.precision = Precision::Exact;
      options.compute.cpu = cpu;
      try {
        run_package(root, name, options);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GT(count, 50);
}

// Raw little-endian fp32.
std::vector<std::byte> read_raw(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  return {begin, begin + content.size()};
}

TEST_F(RunnerPackages, BasicPitchAgreesWithOnnxRuntime) {
  PIPPIN_SHARED_OR_SKIP(root, "packages");
  const mil::Model model = mil::read_package(root / "basic-pitch-nmp.mlpackage");
  ThreadPool pool(2);
  const auto runner = Runner::make(model, "main", pool);
  const mil::FunctionDescription& main = model.description("main");
  State state(main.states);
  // Not "zeros": the original net divides without NaN there, the converted program divides 0 by 0.
  for (const char* sound : {"noise", "sine440", "chord"}) {
    SCOPED_TRACE(sound);
    const std::string prefix = fmt::format("basic-pitch.{}.", sound);
    HostTensor input;
    input.shape = main.inputs.at(0).shape;
    input.bytes = read_raw(root / "golden" / (prefix + "in.f32"));
    const NamedHostTensors outputs = runner->run({{main.inputs[0].name, input}}, state);
    for (const mil::Feature& feature : main.outputs) {
      const HostTensor& output = outputs.at(feature.name);
      HostTensor expected = output;
      expected.bytes = read_raw(root / "golden" / (prefix + feature.name + ".f32"));
      EXPECT_EQ(difference(values_of(output), values_of(expected), {1e-3, 1e-3}), "");
    }
  }
}

}  // namespace
}  // namespace pippin::engine
