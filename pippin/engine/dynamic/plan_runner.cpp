#include "pippin/engine/dynamic/plan_runner.h"

#include <algorithm>
#include <list>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/device.h"
#include "pippin/engine/dynamic/run_io.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {
namespace {

using mil::Feature;
using mil::Var;
using Shapes = std::vector<std::vector<int64_t>>;

class PlanRunner final : public Runner {
 public:
  PlanRunner(const mil::Model& model, std::string_view function, ThreadPool& pool,
             const RunnerOptions& options)
      : model_(model),
        function_(model.program.function(function)),
        description_(model.description(function)),
        pool_(pool),
        options_(options) {
    for (const Feature& feature : description_.inputs) {
      inputs_.push_back(function_.find_input(feature.name));
      if (inputs_.back() == nullptr) {
        fail(ErrorCode::InvalidFile, "the description names an input '{}' that the program lacks",
             feature.name);
      }
      check_type(*inputs_.back(), "input");
    }
    for (const Var* var : function_.block().outputs()) check_type(*var, "output");
    plan_declared_shapes();
  }

  NamedHostTensors run(const NamedHostTensors& inputs, State& state) override {
    check_cancel();
    const mil::ElementLimit limit(options_.max_elements);
    std::vector<RunValue> values;
    Shapes shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto found = inputs.find(inputs_[i]->name);
      if (found == inputs.end()) {
        fail(ErrorCode::InvalidArgument, "input '{}' is missing", inputs_[i]->name);
      }
      values.push_back(to_input(*inputs_[i], found->second));
      shapes.push_back(values.back().shape());
      // The description may declare a scalar of the program as one element.
      if (shapes.back().empty()) shapes.back().resize(description_.inputs[i].shape.size(), 1);
    }
    Execution& execution = execution_for(shapes);
    execution.bind(shapes, state);
    for (size_t i = 0; i < values.size(); ++i) copy_input(values[i], *inputs_[i], execution, i);
    execution.run_cancellable();
    NamedHostTensors outputs;
    for (const Var* var : function_.block().outputs()) {
      const RunValue value = copy_output(execution, output_port(execution.plan(), *var), *var);
      outputs.emplace(var->name, to_output(*var, value));
    }
    if (options_.trace) trace_ = execution.plan().describe();
    return outputs;
  }

  std::string describe() const override { return trace_; }

 private:
  static constexpr size_t kMaxPlans = 16;  // the least recently used is evicted

  struct Ready {
    Shapes shapes;
    Execution execution;
  };

  void check_type(const Var& var, std::string_view role) const {
    if (var.type.is_tensor() && var.type.data_type != mil::DataType::String) return;
    fail(ErrorCode::Unsupported,
         "{} '{}' is {}; the device '{}' takes and gives tensors of numbers", role, var.name,
         mil::to_string(var.type), device_of(options_.compute).name());
  }

  // Unsupported functions are rejected before there are inputs.
  void plan_declared_shapes() {
    Shapes shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const mil::ValueType& type = inputs_[i]->type;
      shapes.push_back(description_.inputs[i].shape);
      const bool is_scalar = type.ranked && type.dims.empty();
      if (shapes.back().empty() && !is_scalar)
        return;  // the size of an image is declared otherwise
    }
    execution_for(shapes);
  }

  Execution& execution_for(const Shapes& shapes) {
    const auto known = std::find_if(ready_.begin(), ready_.end(),
                                    [&](const Ready& one) { return one.shapes == shapes; });
    if (known != ready_.end()) {
      ready_.splice(ready_.begin(), ready_, known);
      return ready_.front().execution;
    }
    PlanOptions plan;
    plan.compute = options_.compute;
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto& ranges = plan.input_ranges[description_.inputs[i].name];
      for (const int64_t size : shapes[i]) ranges.push_back({size, size});
    }
    ready_.push_front({shapes, Execution(Plan::make(model_, description_.name, plan), pool_)});
    if (ready_.size() > kMaxPlans) ready_.pop_back();
    return ready_.front().execution;
  }

  static size_t output_port(const Plan& plan, const Var& var) {
    const auto ports = plan.outputs();
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [&](const Port& port) { return port.name == var.name; });
    if (found == ports.end()) fail(ErrorCode::Internal, "the plan has no output '{}'", var.name);
    return static_cast<size_t>(found - ports.begin());
  }

  const mil::Model& model_;
  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  ThreadPool& pool_;
  const RunnerOptions options_;
  std::vector<const Var*> inputs_;  // in the order of the description, as in plans
  std::list<Ready> ready_;
  std::string trace_;
};

}  // namespace

std::unique_ptr<Runner> make_plan_runner(const mil::Model& model, std::string_view function,
                                         ThreadPool& pool, const RunnerOptions& options) {
  return std::make_unique<PlanRunner>(model, function, pool, options);
}

}  // namespace pippin::engine
