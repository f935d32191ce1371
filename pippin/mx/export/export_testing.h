// For tests: exports functions and runs them in the engine.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/engine/state.h"
#include "pippin/mil/package/package.h"
#include "pippin/mx/export/export_model.h"
#include "pippin/mx/mx_testing.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {

inline engine::HostTensor host(const array& a) {
  engine::HostTensor tensor;
  const Dtype stored = is_floating(a.dtype()) ? (a.dtype() == float16 ? float16 : float32) : int32;
  tensor.type = mil_type(stored);
  tensor.shape.assign(a.shape().begin(), a.shape().end());
  tensor.bytes.resize(static_cast<size_t>(a.size()) * size_of(stored));
  a.read(tensor.bytes.data(), stored);
  return tensor;
}

// A function of a model that keeps its state between calls. Inputs and outputs are in the order of
// declaration.
class Runs {
 public:
  Runs(const mil::Model& model, const std::string& name)
      : description_(model.description(name)), pool_(2, Pinning::Never) {
    engine::RunnerOptions options;
    options.compute.precision = engine::Precision::Exact;
    state_ = std::make_unique<engine::State>(description_.states);
    runner_ = engine::Runner::make(model, name, pool_, options);
  }

  std::vector<array> operator()(const std::vector<array>& inputs) const {
    engine::NamedHostTensors values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[description_.inputs[i].name] = host(inputs[i]);
    }
    const engine::NamedHostTensors results = runner_->run(values, *state_);
    std::vector<array> found;
    for (const mil::Feature& output : description_.outputs) {
      const engine::HostTensor& result = results.at(output.name);
      found.emplace_back(engine::to_tensor(result).values, Shape(result.shape), float64);
    }
    return found;
  }

 private:
  mil::FunctionDescription description_;
  mutable ThreadPool pool_;
  std::unique_ptr<engine::State> state_;
  std::unique_ptr<engine::Runner> runner_;
};

// Writes the model into the folder named by PIPPIN_EXPORTED, for tests with other readers
// (tests/coremltools/check_exported.py).
inline void keep_for_others(const mil::Model& model) {
  const char* folder = std::getenv("PIPPIN_EXPORTED");
  if (folder == nullptr) return;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  static int count = 0;
  const std::string name = std::string(test->name()) + "_" + std::to_string(count++) + ".mlpackage";
  mil::write_package(model, std::filesystem::path(folder) / name);
}

inline void expect_results(const mil::Model& model, const std::string& name,
                           const std::vector<array>& inputs, const std::vector<array>& expected,
                           double tolerance) {
  const std::vector<array> found = Runs(model, name)(inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string what = "output " + std::to_string(i);
    EXPECT_EQ(found[i].shape(), expected[i].shape()) << what;
    expect_numbers(found[i], numbers(expected[i]), tolerance, what, tolerance);
  }
}

// The names of a function's operations, one per line.
inline std::string operations_of(const mil::Model& model, const std::string& name) {
  std::string text;
  for (const auto& operation : model.program.functions.at(name)->block().operations()) {
    text += operation->type() + "\n";
  }
  return text;
}

}  // namespace pippin::mx
