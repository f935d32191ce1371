// A function for one class of shapes, run by Core ML: converts between arrays of the declared types
// and the engine's fp32 and int32.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/coreml/loaded_function.h"
#include "pippin/engine/device_execution.h"
#include "pippin/engine/input_axes.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/check/infer.h"

namespace pippin::coreml {

class CorePlan final : public engine::Plan {
 public:
  // Throws as Plan::make(). `model` must outlive it.
  CorePlan(std::string device, std::shared_ptr<LoadedFunction> function, const mil::Model& model,
           std::string_view name, const engine::PlanOptions& options);

  const std::string& name() const override { return description_.name; }
  std::span<const engine::Port> inputs() const override { return inputs_; }
  std::span<const engine::Port> outputs() const override { return outputs_; }
  const std::vector<mil::Feature>& states() const override { return description_.states; }
  uint64_t arena_bytes() const override { return 0; }
  uint64_t weight_bytes() const override { return weight_bytes_; }
  uint64_t saved_bytes() const override { return 0; }
  std::string describe() const override;
  std::unique_ptr<engine::DeviceExecution> make_execution(ThreadPool& pool) const override;

 private:
  friend class CoreExecution;
  // An output, and its shape in terms of the symbols of the inputs' axes; nullopt: known only after
  // a run.
  struct OutputShape {
    const mil::Feature* feature;
    std::optional<mil::Shape> shape;
  };
  void add_output(const mil::Var& var, const mil::Inference& inference);

  std::string device_;
  std::shared_ptr<LoadedFunction> loaded_;
  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  std::vector<engine::Port> inputs_, outputs_;
  engine::InputAxes axes_;
  std::map<std::string, mil::Shape> input_shapes_;
  std::vector<mil::Constraint> constraints_;
  std::vector<OutputShape> output_shapes_;
  uint64_t weight_bytes_ = 0;
};

}  // namespace pippin::coreml
