#include "pippin/engine/reference/reference.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {

using mil::Block;
using mil::Dim;
using mil::Inference;
using mil::Operation;
using mil::Shape;
using mil::Tensor;
using mil::ValueInfo;
using mil::Var;

namespace {

// The result of an inference and the values of its symbols.
struct Expectation {
  Inference inference;
  std::map<uint64_t, int64_t> symbols;

  // Nothing if it depends on data that is known only at run time.
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

// For a list, those of its elements.
int64_t count_elements(const Tensor& tensor) {
  int64_t count = tensor.size() + static_cast<int64_t>(tensor.items.size());
  for (const auto& item : tensor.items) {
    if (item != nullptr) count += item->size();
  }
  return count;
}

// Calls visit(var) for every value that the operation reads, including nested blocks.
template <typename Visit>
void for_each_used(const Operation& operation, Visit&& visit) {
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      if (const auto* var = std::get_if<Var*>(&binding)) visit(*var);
    }
  }
  for (const auto& block : operation.blocks()) {
    for (const auto& nested : block->operations()) for_each_used(*nested, visit);
    for (const Var* var : block->outputs()) visit(var);
  }
}

}  // namespace

class ReferenceInterpreter::Run final : public mil::Environment {
 public:
  Run(const ReferenceInterpreter& interpreter, ReferenceState& state)
      : interpreter_(interpreter), opset_(interpreter.function_.opset_version()), state_(state) {
    loops_.max_turns = interpreter.options_.max_loop_turns;
  }

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
      set(var.get(), std::make_shared<const Tensor>(std::move(tensor)));
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
  mil::LoopBudget* loop_budget() override { return &loops_; }

  std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      set(block.inputs().at(i).get(), std::make_shared<const Tensor>(std::move(inputs[i])));
    }
    run_operations(block);
    std::vector<Tensor> outputs;
    for (const Var* var : block.outputs()) outputs.push_back(tensor_of(var));
    for (const Var* var : interpreter_.block_ends_.at(&block)) erase(var);
    return outputs;
  }

 private:
  void set(const Var* var, TensorPtr tensor) {
    erase(var);
    live_elements_ += count_elements(*tensor);
    if (live_elements_ > interpreter_.options_.max_live_elements) {
      fail(ErrorCode::LimitExceeded, "'{}': with its {} elements there are {}, the limit is {}",
           var->name, count_elements(*tensor), live_elements_,
           interpreter_.options_.max_live_elements);
    }
    values_.emplace(var, std::move(tensor));
  }
  void erase(const Var* var) {
    const auto it = values_.find(var);
    if (it == values_.end()) return;
    if (var->producer == nullptr || !mil::is_constant(*var->producer)) {
      live_elements_ -= count_elements(*it->second);
    }
    values_.erase(it);
  }

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
      if (mil::is_constant(*operation)) {
        run_constant(*operation);
      } else {
        check_again(*operation);
        keep(*operation, mil::evaluate_operation(*operation, opset_, *this));
      }
      const auto used = interpreter_.last_uses_.find(operation.get());
      if (used == interpreter_.last_uses_.end()) continue;
      for (const Var* var : used->second) erase(var);
    }
  }

  // Value rules rely on the shape rule. If that inferred sizes as data-dependent, it is called
  // again with the numbers.
  void check_again(const Operation& operation) {
    const auto& known = expectations_.at(0).inference.values;
    bool open = false;
    for (const auto& [name, argument] : operation.inputs()) {
      for (const mil::Binding& binding : argument) {
        Var* const* var = std::get_if<Var*>(&binding);
        open = open || (var != nullptr && !mil::constant_shape(known.at(*var).shape));
      }
    }
    if (!open || !operation.blocks().empty()) return;
    std::map<const Var*, ValueInfo> infos;
    const auto info_of = [&](const Var* var) -> const ValueInfo& {
      const auto [it, fresh] = infos.emplace(var, known.at(var));
      if (!fresh || !var->type.is_tensor()) return it->second;
      const Tensor& tensor = tensor_of(var);
      it->second.shape = mil::to_shape(tensor.shape);
      const bool integers = tensor.type == mil::DataType::Bool || mil::is_integer(tensor.type);
      if (integers && tensor.size() <= 1024) {
        std::vector<Dim>& elements = it->second.elements.emplace();
        for (const double value : tensor.values) {
          elements.push_back(Dim(static_cast<int64_t>(value)));
        }
      }
      return it->second;
    };
    std::vector<mil::Constraint> constraints;
    mil::infer_operation(operation, opset_, info_of, constraints);
  }

  void check_outputs(const Operation& operation, const std::vector<Tensor>& outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (const Expectation& expected : expectations_) {
        check_output(expected, *operation.output(i), outputs[i]);
      }
    }
  }
  void keep(const Operation& operation, std::vector<Tensor> outputs) {
    check_outputs(operation, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      set(operation.output(i), std::make_shared<const Tensor>(std::move(outputs[i])));
    }
  }

  void run_constant(const Operation& operation) {
    const std::lock_guard lock(interpreter_.mutex_);
    const auto cached = interpreter_.constants_.find(operation.output());
    if (cached == interpreter_.constants_.end()) {
      std::vector<Tensor> outputs = mil::evaluate_operation(operation, opset_, *this);
      check_outputs(operation, outputs);
      for (size_t i = 0; i < outputs.size(); ++i) {
        interpreter_.constants_[operation.output(i)] =
            std::make_shared<const Tensor>(std::move(outputs[i]));
      }
    }
    for (const auto& var : operation.outputs()) {
      values_[var.get()] = interpreter_.constants_.at(var.get());
    }
  }

  const ReferenceInterpreter& interpreter_;
  mil::Opset opset_;
  ReferenceState& state_;
  std::unordered_map<const Var*, TensorPtr> values_;
  int64_t live_elements_ = 0;  // of values_, without constants
  mil::LoopBudget loops_;
  std::vector<Expectation> expectations_;
};

ReferenceInterpreter::ReferenceInterpreter(const mil::Program& program, std::string_view function,
                                           const ReferenceOptions& options)
    : function_(program.function(function)), options_(options) {
  find_last_uses(function_.block());
}

void ReferenceInterpreter::find_last_uses(const Block& block) {
  std::unordered_map<const Var*, const Operation*> last;  // of the block itself; null: at its end
  for (const auto& var : block.inputs()) last[var.get()] = nullptr;
  if (&block == &function_.block()) {
    for (const auto& var : function_.inputs) {
      if (!var->type.is_state()) last[var.get()] = nullptr;
    }
  }
  for (const auto& operation : block.operations()) {
    for_each_used(*operation, [&](const Var* var) {
      if (const auto own = last.find(var); own != last.end()) own->second = operation.get();
    });
    for (const auto& var : operation->outputs()) last[var.get()] = operation.get();
    for (const auto& nested : operation->blocks()) find_last_uses(*nested);
  }
  for (const Var* var : block.outputs()) {
    if (const auto own = last.find(var); own != last.end()) own->second = nullptr;
  }
  auto& ends = block_ends_[&block];
  for (const auto& [var, operation] : last) {
    (operation == nullptr ? ends : last_uses_[operation]).push_back(var);
  }
}

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
