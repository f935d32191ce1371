// A plan of a whole function for given shapes, with conversion between callers' memory and the
// plan's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/engine/runner.h"

namespace pippin::api {

// Plans of a function shared by prepared calls, by the shapes of inputs; released with the last
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

// Used by one call at a time.
class PlannedCall {
 public:
  // Null if the function cannot be planned as a whole for these inputs, or has inputs or outputs
  // other than tensors of float32, float16, int32 and bool. Computes the outputs named in
  // `outputs`, or all of them if it is null. Objects that the options refer to must outlive the
  // call. The values must already be checked.
  static std::unique_ptr<PlannedCall> make(const PlannedCallOptions& options, const Values& inputs,
                                           const Values* outputs);

  // Like Executable::run(), into the outputs. Returns false, without doing anything, for values
  // that do not match the plan and for outputs that it does not compute. Allocates only for things
  // needed for the first time in a run.
  bool run(const Values& inputs, engine::State& state, Values& outputs);
  // The same into new tensors, for a call that computes all outputs.
  std::optional<Values> run(const Values& inputs, engine::State& state);

 private:
  struct Input {
    const FeatureInfo& feature;
    DataType stored;  // in the plan
    Tensor absent;    // the value if it is not given
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
  // Writes the input, or lends its memory to the plan. False for values that the plan's type cannot
  // hold.
  bool write_input(const Input& input, const Tensor& tensor, size_t index);
  // Runs up to the results; false as in run().
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
