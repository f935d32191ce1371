#include <exception>
#include <mutex>
#include <unordered_map>

#include "pippin/engine/cpu/steps.h"
#include "pippin/mil/check/evaluate.h"

namespace pippin::engine {
namespace {

class ReferenceStep : public Step {
 public:
  explicit ReferenceStep(const ReferenceNode& node) : node_(node) {}

  void run(const StepContext& context) const noexcept override {
    leave_errors(context, [&] {
      Inputs inputs(*this);
      for (size_t i = 0; i < node_.vars.size(); ++i) {
        inputs.tensors.emplace(
            node_.vars[i], load(context.operands[num_written + i], node_.vars[i]->type.data_type));
      }
      const auto outputs = mil::evaluate_operation(*node_.operation, node_.opset, inputs);
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

  const ReferenceNode& node_;
  mutable std::mutex mutex_;  // several executions may share the plan
  mutable std::unordered_map<const mil::Var*, mil::Tensor> constants_;
};

}  // namespace

StepPointer make_step_of(const ReferenceNode& node, const StepSource&) {
  return std::make_unique<ReferenceStep>(node);
}

}  // namespace pippin::engine
