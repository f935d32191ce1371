#include "pippin/engine/dynamic/region_builder.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/cpu/make_plan.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::ValueInfo;
using mil::Var;

// Integer values of at most this many elements are taken as numbers if a size depends on them.
constexpr int64_t kMaxNumbers = 1024;

class Draft {
 public:
  Draft(const RegionRequest& request, size_t limit, const std::set<const Var*>& numbers)
      : request_(request), limit_(limit), numbers_(numbers) {
    region_.opset = request.opset;
  }

  // The result of an attempt.
  enum class Outcome {
    Complete,   // up to stop()
    Retry,      // more inputs must be numbers: wanted_numbers()
    Impossible  // the first operation cannot be planned
  };

  Outcome infer() {
    const auto& operations = request_.block.operations();
    for (stop_ = request_.start; stop_ < limit_; ++stop_) {
      const Operation& operation = *operations[stop_];
      if (mil::is_constant(operation)) continue;
      if (needs_interpreter(operation)) break;
      const size_t inputs_before = region_.inputs.size();
      const size_t constraints_before = inference_.constraints.size();
      if (const auto outcome = infer_one(operation)) {
        if (*outcome != Outcome::Complete) return *outcome;
        forget_inputs(inputs_before);
        inference_.constraints.resize(constraints_before);
        break;
      }
    }
    return Outcome::Complete;
  }

  // Throws Unsupported if lowering does; `failed` is then the operation.
  std::unique_ptr<PlannedRegion> plan(const Operation** failed) {
    auto result = std::make_unique<PlannedRegion>();
    result->stop = stop_;
    std::unordered_set<const Operation*> members(region_.operations.begin(),
                                                 region_.operations.end());
    for (const Operation* operation : region_.operations) {
      if (mil::is_constant(*operation)) continue;
      for (const auto& output : operation->outputs()) {
        if (request_.uses.outside(output.get(), members)) region_.outputs.push_back(output.get());
      }
    }
    if (std::none_of(region_.operations.begin(), region_.operations.end(),
                     [](const Operation* o) { return !mil::is_constant(*o); })) {
      return result;
    }
    NodePlan plan;
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      const RegionInput& input = region_.inputs[i];
      plan.inputs.push_back(input.port);
      const RunValue& value = request_.value_of(input.var);
      PlannedRegion::Input key{input.var, value.shape(), std::nullopt};
      if (numbers_.contains(input.var)) key.numbers = value.integers(kMaxNumbers);
      plan.axes.add(input.port.name, value.shape());
      const ValueInfo& info = inference_.of(input.var);
      if (!key.numbers && info.elements) {
        key.position = true;
        for (size_t k = 0; k < info.elements->size(); ++k) {
          plan.values.push_back({i, k, (*info.elements)[k].symbols().at(0)->id});
        }
      }
      result->inputs.push_back(std::move(key));
    }
    plan.constraints = inference_.constraints;
    region_.compute = request_.compute;
    region_.target = cpu_target(request_.compute);
    plan_region(region_, inference_, plan, failed);
    result->outputs = region_.outputs;
    result->plan = make_plan(std::move(plan), request_.compute);
    return result;
  }

  // Requests every small integer input as numbers; returns whether that adds any.
  bool want_all_numbers() {
    for (const RegionInput& input : region_.inputs) {
      const bool small = request_.value_of(input.var).integers(kMaxNumbers).has_value();
      if (small && !numbers_.contains(input.var)) wanted_.insert(input.var);
    }
    return !wanted_.empty();
  }

  const std::set<const Var*>& wanted_numbers() const { return wanted_; }
  size_t stop() const { return stop_; }

 private:
  // Nothing: the operation belongs to the region. Complete: the region ends before it.
  std::optional<Outcome> infer_one(const Operation& operation) {
    const bool first = region_.operations.empty() || only_constants();
    std::vector<ValueInfo> infos;
    try {
      infos = mil::infer_operation(operation, request_.opset, info_of_, inference_.constraints);
    } catch (const Error&) {
      if (!first) return Outcome::Complete;
      if (want_all_numbers()) return Outcome::Retry;
      throw;
    }
    for (const ValueInfo& info : infos) {
      bool open = false;
      for (const Dim& dim : info.shape) {
        for (const Dim::AtomPtr& symbol : dim.symbols()) {
          const auto owner = owners_.find(symbol->id);
          if (owner != owners_.end()) {
            wanted_.insert(owner->second);
          } else {
            open = true;
          }
        }
      }
      if (!wanted_.empty()) return Outcome::Retry;
      if (open) {
        if (!first) return Outcome::Complete;
        return want_all_numbers() ? Outcome::Retry : Outcome::Impossible;
      }
      if (mil::num_elements(info.shape).upper() > request_.max_elements) {
        fail(ErrorCode::LimitExceeded, "{} '{}': a value of shape {} has more than {} elements",
             operation.type(), operation.output()->name, mil::to_string(info.shape),
             request_.max_elements);
      }
    }
    for (size_t i = 0; i < infos.size(); ++i) {
      inference_.values[operation.output(i)] = std::move(infos[i]);
    }
    region_.operations.push_back(&operation);
    return std::nullopt;
  }

  bool only_constants() const {
    return std::all_of(region_.operations.begin(), region_.operations.end(),
                       [](const Operation* o) { return mil::is_constant(*o); });
  }

  const ValueInfo& info_of(const Var* var) {
    const auto found = inference_.values.find(var);
    if (found != inference_.values.end()) return found->second;
    if (var->producer != nullptr && mil::is_constant(*var->producer)) {
      const Operation& producer = *var->producer;
      auto infos = mil::infer_operation(producer, request_.opset, info_of_, inference_.constraints);
      if (producer.type() != "const") region_.operations.push_back(&producer);
      for (size_t i = 0; i < infos.size(); ++i) {
        inference_.values[producer.output(i)] = std::move(infos[i]);
      }
      return inference_.values.at(var);
    }
    if (var->type.is_state()) {
      ValueInfo info;
      info.kind = var->type.kind;
      info.type = var->type.parameters.at(0).data_type;
      info.shape = mil::to_shape(var->type.parameters.at(0).dims);
      return inference_.values[var] = std::move(info);
    }
    const RunValue& value = request_.value_of(var);
    ValueInfo info = info_of_value(value, numbers_.contains(var));
    const auto numbers = value.integers(kMaxValueSymbols);
    const bool positions = !info.elements && numbers && mil::is_integer(value.type());
    if (positions &&
        std::all_of(numbers->begin(), numbers->end(), [](int64_t n) { return n >= 0; })) {
      std::vector<Dim>& elements = info.elements.emplace();
      for (size_t i = 0; i < numbers->size(); ++i) {
        elements.push_back(Dim::symbol(fmt::format("{}({})", var->name, i), 0, INT32_MAX));
        owners_[elements.back().symbols().at(0)->id] = var;
      }
    } else if (positions) {
      wanted_.insert(var);
    }
    region_.inputs.push_back(
        {var, {var->name, value.type(), mil::is_float(value.type())}, info.shape});
    return inference_.values[var] = std::move(info);
  }

  // Removes inputs that only the omitted operation read.
  void forget_inputs(size_t kept) {
    while (region_.inputs.size() > kept) {
      inference_.values.erase(region_.inputs.back().var);
      region_.inputs.pop_back();
    }
  }

  const RegionRequest& request_;
  size_t limit_;
  const std::set<const Var*>& numbers_;
  std::set<const Var*> wanted_;
  std::unordered_map<uint64_t, const Var*> owners_;
  Region region_;
  mil::Inference inference_;
  size_t stop_ = 0;
  const std::function<const ValueInfo&(const Var*)> info_of_ =
      [this](const Var* var) -> const ValueInfo& { return info_of(var); };
};

}  // namespace

Uses::Uses(const mil::Function& function) {
  add(function.block());
}

void Uses::add(const mil::Block& block) {
  for (const auto& operation : block.operations()) {
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (const auto* var = std::get_if<Var*>(&binding)) users_[*var].push_back(operation.get());
      }
    }
    for (const auto& nested : operation->blocks()) add(*nested);
  }
  block_outputs_.insert(block.outputs().begin(), block.outputs().end());
}

bool Uses::outside(const Var* var, const std::unordered_set<const Operation*>& operations) const {
  if (block_outputs_.contains(var)) return true;
  const auto users = users_.find(var);
  return users != users_.end() &&
         std::any_of(users->second.begin(), users->second.end(),
                     [&](const Operation* user) { return !operations.contains(user); });
}

bool PlannedRegion::fits(const std::function<const RunValue&(const Var*)>& value_of) const {
  return std::all_of(inputs.begin(), inputs.end(), [&](const Input& input) {
    const RunValue& value = value_of(input.var);
    if (value.shape() != input.shape) return false;
    if (input.numbers) return value.integers(kMaxNumbers) == input.numbers;
    if (!input.position) return true;
    const auto numbers = value.integers(kMaxValueSymbols);
    return std::all_of(numbers->begin(), numbers->end(), [](int64_t n) { return n >= 0; });
  });
}

bool needs_interpreter(const Operation& operation) {
  if (!operation.blocks().empty()) return true;
  const auto plain = [](const Var& var) {
    const bool tensor = var.type.is_tensor() && var.type.data_type != mil::DataType::String;
    return tensor || var.type.is_state() ||
           (var.producer != nullptr && mil::is_constant(*var.producer));
  };
  for (const auto& output : operation.outputs()) {
    if (!plain(*output)) return true;
  }
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<Var*>(&binding);
      if (var != nullptr && !plain(**var)) return true;
    }
  }
  return false;
}

ValueInfo info_of_value(const RunValue& value, bool numbers) {
  ValueInfo info;
  info.type = value.type();
  if (!value.is_plain()) {
    const mil::Tensor& tensor = value.tensor();
    info.kind = tensor.kind;
    for (const int64_t size : tensor.shape) {  // of an element; some have a size only after a write
      info.shape.push_back(size >= 0 ? Dim(size) : Dim::symbol("element", 0, INT64_MAX));
    }
    if (tensor.kind == mil::ValueType::Kind::Dictionary) {
      info.key_type = tensor.items.at(0)->type;
    } else if (!tensor.can_grow) {
      info.length = Dim(static_cast<int64_t>(tensor.items.size()));
    }
    return info;
  }
  info.shape = mil::to_shape(value.shape());
  if (!numbers) return info;
  if (const auto integers = value.integers(kMaxNumbers)) {
    info.elements.emplace(integers->begin(), integers->end());
  }
  return info;
}

std::unique_ptr<PlannedRegion> build_region(const RegionRequest& request) {
  std::set<const Var*> numbers;
  size_t limit = request.block.operations().size();
  for (;;) {
    Draft draft(request, limit, numbers);
    const Draft::Outcome outcome = draft.infer();
    if (outcome == Draft::Outcome::Impossible) return nullptr;
    if (request.numbers_only) draft.want_all_numbers();
    if (outcome == Draft::Outcome::Retry || !draft.wanted_numbers().empty()) {
      numbers.insert(draft.wanted_numbers().begin(), draft.wanted_numbers().end());
      continue;
    }
    const Operation* failed = nullptr;
    try {
      return draft.plan(&failed);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported || failed == nullptr) throw;
      log_debug("{}", error.what());
      const auto& operations = request.block.operations();
      const auto at = std::find_if(operations.begin(), operations.end(),
                                   [&](const auto& o) { return o.get() == failed; });
      if (at == operations.end()) throw;  // a constexpr of an enclosing block
      limit = static_cast<size_t>(at - operations.begin());
      const bool any = std::any_of(operations.begin() + static_cast<std::ptrdiff_t>(request.start),
                                   at, [](const auto& o) { return !mil::is_constant(*o); });
      if (!any) return nullptr;
    }
  }
}

}  // namespace pippin::engine
