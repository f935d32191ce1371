// Packages made with coremltools (data/coremltools) through the reference interpreter.
#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/compare.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> package_names(const fs::path& root, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".mlpackage" && name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Every step of NAME.json with the inputs, outputs and states of NAME.npz.
void run_package(const fs::path& root, const std::string& name, bool symbolic, size_t max_steps) {
  SCOPED_TRACE(name);
  const Json description = Json::load(root / (name + ".json"));
  const mil::Model model = mil::read_package(root / (name + ".mlpackage"));
  const NpzFile arrays = NpzFile::open(root / (name + ".npz"));
  const Tolerance tolerance{description.get_float("atol"), description.get_float("rtol"), 0, true};
  ReferenceState state;
  std::map<std::string, std::unique_ptr<ReferenceInterpreter>> interpreters;
  const std::vector<Json> steps = description.at("steps").elements();
  for (size_t step = 0; step < std::min(steps.size(), max_steps); ++step) {
    const std::string function = steps[step].get_string("function");
    auto& interpreter = interpreters[function];
    if (!interpreter) {
      ReferenceOptions options;
      options.check_symbolic = symbolic;
      interpreter = std::make_unique<ReferenceInterpreter>(model.program, function, options);
    }
    const auto outputs =
        interpreter->run(load_tensors(arrays, fmt::format("s{}.in.", step)), state);
    for (const auto& [output, expected] : load_tensors(arrays, fmt::format("s{}.out.", step))) {
      ASSERT_TRUE(outputs.contains(output)) << output;
      EXPECT_EQ(difference(outputs.at(output), expected, tolerance), "") << output << " " << step;
    }
    for (const auto& [var, expected] : load_tensors(arrays, fmt::format("s{}.state.", step))) {
      ASSERT_TRUE(state.states.contains(var)) << var;
      EXPECT_EQ(difference(state.states.at(var), expected, tolerance), "") << var << " " << step;
    }
  }
}

void run_packages(const std::string& prefix, bool symbolic, size_t max_steps) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  const auto names = package_names(root, prefix);
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    try {
      run_package(root, name, symbolic, max_steps);
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
}

TEST(Packages, CompressedLayers) {
  run_packages("c_", false, 100);
}
TEST(Packages, ControlFlowAndEnumeratedShapes) {
  run_packages("g_", true, 100);
}
TEST(Packages, Llamas) {
  run_packages("llama_", true, 3);
}
TEST(Packages, WindowedChunks) {
  run_packages("bc1s_", true, 100);
}

}  // namespace
}  // namespace pippin::engine
