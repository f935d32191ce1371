#include "pippin/engine/lowering/reference_step.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <unordered_map>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/check/evaluate.h"

namespace pippin::engine {
namespace {

// views: the outputs, then the run-time inputs, one for each of `vars`; all contiguous.
class ReferenceStep : public Step {
 public:
  ReferenceStep(const mil::Operation& operation, mil::Opset opset,
                std::vector<const mil::Var*> vars)
      : operation_(operation), opset_(opset), vars_(std::move(vars)) {}

  std::string name() const override { return operation_.type() + " (reference)"; }

  void run(const StepContext& context) const noexcept override {
    leave_errors(context, [&] {
      Inputs inputs(*this);
      for (size_t i = 0; i < vars_.size(); ++i) {
        inputs.tensors.emplace(vars_[i],
                               load(context.operands[num_written + i], vars_[i]->type.data_type));
      }
      const auto outputs = mil::evaluate_operation(operation_, opset_, inputs);
      for (size_t i = 0; i < outputs.size(); ++i) store(outputs[i], context.operands[i]);
    });
  }

 private:
  struct Inputs : mil::Environment {
    explicit Inputs(const ReferenceStep& owner) : step(owner) {}
    const ReferenceStep& step;
    std::unordered_map<const mil::Var*, mil::Tensor> tensors;
    const mil::Tensor& tensor_of(const mil::Var* var) override {
      const auto found = tensors.find(var);
      return found != tensors.end() ? found->second : step.constant(var);
    }
  };

  // Read once: constants do not change.
  const mil::Tensor& constant(const mil::Var* var) const {
    const std::lock_guard lock(mutex_);
    const auto found = constants_.find(var);
    if (found != constants_.end()) return found->second;
    return constants_.emplace(var, mil::to_tensor(*mil::constant_of(var))).first->second;
  }

  static mil::Tensor load(const Operand& operand, mil::DataType type) {
    mil::Tensor tensor(type, std::vector<int64_t>(operand.shape, operand.shape + operand.rank));
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = operand.storage == Storage::F32 ? static_cast<double>(operand.floats()[i])
                         : operand.storage == Storage::I32
                             ? static_cast<double>(operand.ints()[i])
                             : static_cast<double>(operand.bools()[i]);
    }
    return tensor;
  }

  static void store(const mil::Tensor& tensor, const Operand& operand) {
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      const double value = tensor.values[i];
      switch (operand.storage) {
        case Storage::F32:
          operand.floats()[i] = static_cast<float>(value);
          break;
        case Storage::I32:
          operand.ints()[i] = static_cast<int32_t>(value);
          break;
        default:
          operand.bools()[i] = value != 0;
          break;
      }
    }
  }

  const mil::Operation& operation_;
  mil::Opset opset_;
  std::vector<const mil::Var*> vars_;
  mutable std::mutex mutex_;  // several executions may share the plan
  mutable std::unordered_map<const mil::Var*, mil::Tensor> constants_;
};

}  // namespace

void lower_to_reference(Builder& builder, const mil::Operation& operation) {
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::Unsupported, "{} (opset {}): {}", builder.where(operation),
         mil::to_string(builder.opset()), why);
  };
  const mil::OpDef* op = mil::find_op(operation.type(), builder.opset());
  if (op == nullptr) refuse("the op is not known");
  if (!op->pure || !operation.blocks().empty()) refuse("the engine has no rule for this op yet");
  std::vector<View> views;
  for (const auto& output : operation.outputs()) {
    const mil::ValueInfo& result = builder.info(output.get());
    if (result.kind != mil::ValueType::Kind::Tensor)
      refuse("results that are not tensors cannot be planned yet");
    views.push_back(builder.allocate(run_storage(result.type), result.shape));
  }
  const size_t num_outputs = views.size();
  std::vector<const mil::Var*> vars;
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<mil::Var*>(&binding);
      if (var == nullptr || mil::constant_of(*var) != nullptr) continue;
      if (std::find(vars.begin(), vars.end(), *var) != vars.end()) continue;
      View view = builder.view(*var);
      if (is_float(view.storage)) view = builder.view_as(view, Storage::F32);
      views.push_back(builder.contiguous(view));
      vars.push_back(*var);
    }
  }
  log_debug("{}: no kernel, the reference runs it", builder.where(operation));
  const std::vector<View> outputs(views.begin(),
                                  views.begin() + static_cast<std::ptrdiff_t>(num_outputs));
  Node& node = builder.emit_step<ReferenceStep>(std::move(views), operation, builder.opset(),
                                                std::move(vars));
  node.num_written = num_outputs;
  for (size_t i = 0; i < num_outputs; ++i) builder.define(operation.output(i), outputs[i]);
}

}  // namespace pippin::engine
