#include "pippin/mil/check/evaluate.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

class OperationContext final : public EvalContext {
 public:
  OperationContext(const Operation& operation, Opset opset, Environment& environment)
      : EvalContext(operation, opset), environment_(environment) {}

  const Tensor& input(std::string_view parameter) const override {
    const std::vector<const Tensor*> tensors = inputs(parameter);
    if (tensors.size() != 1) reject("{} takes one value, not {}", parameter, tensors.size());
    return *tensors[0];
  }

  std::vector<const Tensor*> inputs(std::string_view parameter) const override {
    const BoundArgument bound = find_argument(operation(), parameter);
    if (!bound) reject("{} is missing", parameter);
    if (bound.attribute != nullptr) return {&literal(*bound.attribute)};
    std::vector<const Tensor*> tensors;
    for (const Binding& binding : *bound.argument) {
      if (const Value* value = std::get_if<Value>(&binding)) {
        tensors.push_back(&literal(*value));
      } else {
        tensors.push_back(&environment_.tensor_of(std::get<Var*>(binding)));
      }
    }
    return tensors;
  }

  Tensor& state(std::string_view parameter) override {
    const Var* var = operation().input_var(parameter);
    if (var == nullptr) reject("{} is not a state", parameter);
    return environment_.state_of(var);
  }

  std::vector<Tensor> run_block(size_t index, std::vector<Tensor> tensors) override {
    if (index >= operation().blocks().size()) reject("block {} is missing", index);
    return environment_.run_block(*operation().blocks()[index], std::move(tensors));
  }

  void count_loop_turn() override {
    LoopBudget* budget = environment_.loop_budget();
    if (budget == nullptr) return;
    if (budget->turns >= budget->max_turns) {
      fail(ErrorCode::LimitExceeded, "{}: the loops of this run have made {} turns, the limit",
           where(), budget->turns);
    }
    ++budget->turns;
  }

 protected:
  std::optional<std::vector<double>> known_numbers(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    const Tensor& tensor = input(parameter);
    if (tensor.type == DataType::String || tensor.kind != ValueType::Kind::Tensor) {
      reject("{} must be numbers", parameter);
    }
    return tensor.values;
  }
  std::optional<std::string> known_string(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    const Tensor& tensor = input(parameter);
    if (tensor.strings.size() != 1) reject("{} must be a string", parameter);
    return tensor.strings[0];
  }

 private:
  const Tensor& literal(const Value& value) const {
    const auto it = literals_.find(&value);
    if (it != literals_.end()) return it->second;
    return literals_.emplace(&value, to_tensor(value)).first->second;
  }

  Environment& environment_;
  mutable std::map<const Value*, Tensor> literals_;
};

void check_shape(const OpContext& context, const Var& var, const Tensor& tensor) {
  if (!var.type.is_tensor() || !var.type.ranked) return;
  const std::vector<int64_t>& dims = var.type.dims;
  if (std::find(dims.begin(), dims.end(), kVariadicDim) != dims.end()) return;
  bool equal = var.type.dims.size() == tensor.shape.size();
  for (size_t i = 0; equal && i < tensor.shape.size(); ++i) {
    equal = var.type.dims[i] < 0 || var.type.dims[i] == tensor.shape[i];
  }
  if (!equal) {
    context.reject("'{}' is declared {}, its shape is {}", var.name, to_string(var.type),
                   tensor.shape);
  }
}

}  // namespace

Tensor& Environment::state_of(const Var* var) {
  fail(ErrorCode::Unsupported, "state '{}' has no value here", var->name);
}
std::vector<Tensor> Environment::run_block(const Block&, std::vector<Tensor>) {
  fail(ErrorCode::Unsupported, "nested blocks do not run here");
}

std::vector<Tensor> evaluate_operation(const Operation& operation, Opset opset,
                                       Environment& environment) {
  OperationContext context(operation, opset, environment);
  const OpDef* def = find_op(operation.type(), opset);
  if (def == nullptr) {
    fail(ErrorCode::Unsupported, "{}: the op is not supported in opset {}", context.where(),
         to_string(opset));
  }
  std::vector<Tensor> outputs = naming_limits(context, [&] { return def->evaluate(context); });
  if (outputs.size() != operation.outputs().size()) {
    context.reject("{} outputs are declared, the op has {}", operation.outputs().size(),
                   outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Var& var = *operation.output(i);
    if (var.type.kind != outputs[i].kind) {
      context.reject("'{}' is declared {}, which the op does not give", var.name,
                     to_string(var.type));
    }
    if (!var.type.is_tensor()) continue;
    outputs[i].type = var.type.data_type;
    round_to_type(outputs[i]);
    check_shape(context, var, outputs[i]);
  }
  return outputs;
}

}  // namespace pippin::mil
