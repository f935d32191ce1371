// A plan of a whole function for given shapes, between callers' memory and the plan's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/engine/runner.h"

namespace pippin::api {

// Plans of a function that prepared calls share, by the shapes of its inputs; they go with the last
// call.
class SharedPlans {
 public:
  using Shapes = std::vector<std::vector<int64_t>>;
  std::shared_ptr<const engine::Plan> get(const mil::Model& model, const std::string& function,
                                          const Shapes& shapes,
                                          const engine::RunnerOptions& options);

 private:
  struct Entry {
    Shapes shapes;
    std::weak_ptr<const engine::Plan> plan;
  };
  std::vector<Entry> entries_;
};

struct PlannedCallOptions {
  const mil::Model& model;
  const std::string& function;
  const std::vector<FeatureInfo>& inputs;
  const std::vector<FeatureInfo>& outputs;
  ThreadPool& pool;
  const engine::RunnerOptions& runner;
  SharedPlans& plans;
};

// One call at a time.
class PlannedCall {
 public:
  // Null where the function cannot be planned as a whole for these inputs, or takes or gives
  // something else than tensors of float32, float16, int32 and bool. It computes the outputs that
  // `outputs` names, or all of them for null. What the options refer to has to outlive the call.
  // The values were checked.
  static std::unique_ptr<PlannedCall> make(const PlannedCallOptions& options, const Values& inputs,
                                           const Values* outputs);

  // As Executable::run(), into the outputs; false, with nothing done, for values that the plan is
  // not for and for outputs that it does not compute. Takes no memory but for what comes up first
  // in a run.
  bool run(const Values& inputs, engine::State& state, Values& outputs);
  // The same into new tensors, for a call that computes all outputs.
  std::optional<Values> run(const Values& inputs, engine::State& state);

 private:
  struct Input {
    const FeatureInfo& feature;
    DataType stored;  // in the plan
    Tensor absent;    // what it is where it is not given
    DataType given;
    std::vector<int64_t> shape;
  };
  struct Output {
    const FeatureInfo& feature;
    DataType stored;
    size_t port;
  };
  struct Scratch {
    std::vector<std::byte> bytes;
    std::span<std::byte> take(size_t size);
  };

  PlannedCall(std::shared_ptr<const engine::Plan> plan, const PlannedCallOptions& options);
  // Or lends it to the plan. False for values that the plan's type does not hold.
  bool write_input(const Input& input, const Tensor& tensor, size_t index);
  // Up to the results; false as run().
  bool compute(const Values& inputs, engine::State& state);
  bool computes(const Values& outputs) const;
  std::span<const int64_t> shape_of(const Output& output) const;
  void read_output(const Output& output, Tensor& target);

  engine::Execution execution_;
  int64_t max_elements_;
  SharedPlans::Shapes shapes_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  bool is_whole_;  // computes all outputs
  Scratch packed_, converted_;
};

}  // namespace pippin::api
