#include "pippin/engine/reference.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/mil/evaluate.h"
#include "pippin/mil/infer.h"

namespace pippin::engine {

using mil::Block;
using mil::Dim;
using mil::Function;
using mil::Inference;
using mil::Operation;
using mil::Shape;
using mil::Tensor;
using mil::ValueInfo;
using mil::Var;

namespace {

bool is_constant(const Operation& operation) {
  return operation.type() == "const" || operation.type().starts_with("constexpr_");
}

// An inference and the values of its symbols.
struct Expectation {
  Inference inference;
  std::map<uint64_t, int64_t> symbols;

  // Nothing where it depends on what only running tells.
  std::optional<int64_t> evaluate(const Dim& dim) const {
    for (const auto& symbol : dim.symbols()) {
      if (!symbols.contains(symbol->id)) return std::nullopt;
    }
    return dim.evaluate([this](const Dim::Atom& symbol) { return symbols.at(symbol.id); });
  }
};

void check_constraints(const Expectation& expected) {
  for (const mil::Constraint& constraint : expected.inference.constraints) {
    const auto a = expected.evaluate(constraint.a), b = expected.evaluate(constraint.b);
    if (!a || !b) continue;
    const bool holds = constraint.kind == mil::Constraint::Kind::Equal ? *a == *b : *a >= *b;
    if (!holds) {
      fail(ErrorCode::InvalidArgument, "{}: {} is {}, {} is {}", constraint.what,
           constraint.a.to_string(), *a, constraint.b.to_string(), *b);
    }
  }
}

void check_output(const Expectation& expected, const Var& var, const Tensor& tensor) {
  const auto it = expected.inference.values.find(&var);
  if (it == expected.inference.values.end() || !var.type.is_tensor()) return;
  const ValueInfo& info = it->second;
  bool agrees = info.type == tensor.type && info.shape.size() == tensor.shape.size();
  for (size_t i = 0; agrees && i < tensor.shape.size(); ++i) {
    agrees = expected.evaluate(info.shape[i]).value_or(tensor.shape[i]) == tensor.shape[i];
  }
  if (!agrees) {
    fail(ErrorCode::Internal, "'{}' is {} {}, its shape rule said {} {}", var.name,
         to_string(tensor.type), tensor.shape, to_string(info.type), to_string(info.shape));
  }
  if (!info.elements) return;
  agrees = info.elements->size() == tensor.values.size();
  for (size_t i = 0; agrees && i < tensor.values.size(); ++i) {
    const auto element = expected.evaluate((*info.elements)[i]);
    agrees = !element || static_cast<double>(*element) == tensor.values[i];
  }
  if (!agrees) {
    fail(ErrorCode::Internal, "'{}' is {}, its shape rule said {}", var.name, tensor.values,
         mil::to_string(*info.elements));
  }
}

}  // namespace

class ReferenceInterpreter::Run final : public mil::Environment {
 public:
  Run(const ReferenceInterpreter& interpreter, ReferenceState& state)
      : interpreter_(interpreter), opset_(interpreter.function_.opset_version()), state_(state) {}

  void bind_inputs(const std::map<std::string, Tensor>& inputs) {
    for (const auto& var : interpreter_.function_.inputs) {
      if (var->type.is_state()) {
        bind_state(*var);
        continue;
      }
      const auto it = inputs.find(var->name);
      if (it == inputs.end()) {
        fail(ErrorCode::InvalidArgument, "input '{}' is missing", var->name);
      }
      Tensor tensor = it->second;
      if (var->type.ranked && var->type.dims.empty() && tensor.shape == std::vector<int64_t>{1}) {
        tensor.shape.clear();
      }
      if (mil::num_elements(tensor.shape) != tensor.size()) {
        fail(ErrorCode::InvalidArgument, "input '{}' of shape {} has {} elements", var->name,
             tensor.shape, tensor.size());
      }
      tensor.type = var->type.data_type;
      round_to_type(tensor);
      values_[var.get()] = std::make_shared<const Tensor>(std::move(tensor));
    }
  }

  void infer_shapes(bool symbolic) {
    Expectation expected;
    std::map<std::string, Shape> shapes;
    for (const auto& var : interpreter_.function_.inputs) {
      if (var->type.is_state()) continue;
      const std::vector<int64_t>& dims = values_.at(var.get())->shape;
      Shape shape = mil::to_shape(dims);
      for (size_t i = 0; symbolic && i < dims.size(); ++i) {
        if (var->type.ranked && var->type.dims.size() == dims.size() && var->type.dims[i] >= 0) {
          continue;
        }
        shape[i] = Dim::symbol(fmt::format("{}.{}", var->name, i), std::min<int64_t>(1, dims[i]),
                               INT32_MAX);
        expected.symbols[shape[i].symbols().at(0)->id] = dims[i];
      }
      shapes[var->name] = std::move(shape);
    }
    expected.inference = mil::infer(interpreter_.function_, shapes);
    check_constraints(expected);
    expectations_.push_back(std::move(expected));
  }

  std::map<std::string, Tensor> outputs() {
    const Block& block = interpreter_.function_.block();
    run_operations(block);
    std::map<std::string, Tensor> result;
    for (const Var* var : block.outputs()) result[var->name] = *values_.at(var);
    return result;
  }

  const Tensor& tensor_of(const Var* var) override {
    const auto it = values_.find(var);
    if (it == values_.end()) {
      fail(ErrorCode::InvalidFile, "'{}' is used before its definition", var->name);
    }
    return *it->second;
  }
  Tensor& state_of(const Var* var) override { return state_.states.at(var->name); }

  std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[block.inputs().at(i).get()] = std::make_shared<const Tensor>(std::move(inputs[i]));
    }
    run_operations(block);
    std::vector<Tensor> outputs;
    for (const Var* var : block.outputs()) outputs.push_back(tensor_of(var));
    return outputs;
  }

 private:
  void bind_state(const Var& var) {
    const mil::ValueType& type = var.type.parameters.at(0);
    const auto [it, fresh] = state_.states.try_emplace(var.name);
    if (fresh) it->second = Tensor(type.data_type, type.dims);
    if (it->second.shape != type.dims) {
      fail(ErrorCode::InvalidArgument, "state '{}' has shape {}, needs {}", var.name,
           it->second.shape, to_string(type));
    }
    it->second.type = type.data_type;
    round_to_type(it->second);
  }

  void run_operations(const Block& block) {
    for (const auto& operation : block.operations()) {
      check_cancel();
      if (is_constant(*operation)) {
        run_constant(*operation);
      } else {
        keep(*operation, mil::evaluate_operation(*operation, opset_, *this));
      }
    }
  }

  void keep(const Operation& operation, std::vector<Tensor> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Var* var = operation.output(i);
      for (const Expectation& expected : expectations_) check_output(expected, *var, outputs[i]);
      values_[var] = std::make_shared<const Tensor>(std::move(outputs[i]));
    }
  }

  void run_constant(const Operation& operation) {
    const std::lock_guard lock(interpreter_.mutex_);
    const auto cached = interpreter_.constants_.find(operation.output());
    if (cached == interpreter_.constants_.end()) {
      keep(operation, mil::evaluate_operation(operation, opset_, *this));
      for (const auto& var : operation.outputs()) {
        interpreter_.constants_[var.get()] = values_.at(var.get());
      }
    } else {
      for (const auto& var : operation.outputs()) {
        values_[var.get()] = interpreter_.constants_.at(var.get());
      }
    }
  }

  const ReferenceInterpreter& interpreter_;
  mil::Opset opset_;
  ReferenceState& state_;
  std::unordered_map<const Var*, TensorPtr> values_;
  std::vector<Expectation> expectations_;
};

ReferenceInterpreter::ReferenceInterpreter(const mil::Program& program, std::string_view function,
                                           const ReferenceOptions& options)
    : function_(program.function(function)), options_(options) {}

std::map<std::string, Tensor> ReferenceInterpreter::run(const std::map<std::string, Tensor>& inputs,
                                                        ReferenceState& state) const {
  const mil::ElementLimit limit(options_.max_elements);
  Run run(*this, state);
  run.bind_inputs(inputs);
  run.infer_shapes(false);
  if (options_.check_symbolic) run.infer_shapes(true);
  return run.outputs();
}

}  // namespace pippin::engine
