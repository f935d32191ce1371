// A function of an ML Program, or a pipeline's stages in order, behind one face: named values in,
// named values out, as declared.
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

  // Throws InvalidArgument where an input is unknown or missing, and where kind, element type or
  // shape of one are not as declared.
  void check_names(const Values& inputs) const;
  void check_inputs(const Values& inputs) const;
  // The outputs that are declared. Names that are no inputs are left aside.
  virtual Values run(const Values& inputs, engine::State& state) = 0;
  // The same into `outputs`, which api::check_targets() takes.
  virtual void run_into(const Values& inputs, engine::State& state, Values& outputs);
  virtual std::string describe() const = 0;
  // As PlannedCall::make(). Null where there can be none. The executable has to outlive it.
  virtual std::unique_ptr<PlannedCall> plan_call(const Values& /*inputs*/,
                                                 const Values* /*outputs*/);

 protected:
  explicit Executable(const mil::FunctionDescription& description);

 private:
  std::vector<FeatureInfo> inputs_, outputs_;
};

// The states of a function, those of a pipeline's stages included, each name once. Throws
// Unsupported where one name has two shapes or types.
std::vector<mil::Feature> collect_states(const mil::Model& model, std::string_view function);
void merge_states(std::vector<mil::Feature>& states, const std::vector<mil::Feature>& more);

}  // namespace pippin::api
