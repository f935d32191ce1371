// A function of an ML Program, a tabular model, or the stages of a pipeline of any of them, behind
// one interface: named values in and out, as declared.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/engine/runner.h"
#include "pippin/mil/model.h"

namespace pippin::api {

class PlannedCall;

class Executable {
 public:
  // `model` and `pool` must outlive it. Throws as engine::Runner::make().
  static std::unique_ptr<Executable> make(const mil::Model& model, std::string_view function,
                                          ThreadPool& pool, const engine::RunnerOptions& options);
  virtual ~Executable() = default;

  const std::vector<FeatureInfo>& inputs() const { return inputs_; }
  const std::vector<FeatureInfo>& outputs() const { return outputs_; }

  // Throws InvalidArgument if an input is unknown or missing, or if the kind, element type or shape
  // of one is not as declared.
  void check_names(const Values& inputs) const;
  void check_inputs(const Values& inputs) const;
  // Returns the declared outputs. Ignores names that are not inputs.
  virtual Values run(const Values& inputs, engine::State& state) = 0;
  // The same into `outputs`, which must satisfy api::check_targets().
  virtual void run_into(const Values& inputs, engine::State& state, Values& outputs);
  virtual std::string describe() const = 0;
  // Like PlannedCall::make(). Null if planning is impossible. The executable must outlive the
  // result.
  virtual std::unique_ptr<PlannedCall> plan_call(const Values& /*inputs*/,
                                                 const Values* /*outputs*/);

 protected:
  explicit Executable(const mil::FunctionDescription& description);

 private:
  std::vector<FeatureInfo> inputs_, outputs_;
};

// The states of a function, including those of a pipeline's stages, each name once. Throws
// Unsupported if one name has two shapes or types.
std::vector<mil::Feature> collect_states(const mil::Model& model, std::string_view function);
void merge_states(std::vector<mil::Feature>& states, const std::vector<mil::Feature>& more);

}  // namespace pippin::api
