#include "pippin/engine/dynamic/dynamic_runner.h"

#include <algorithm>
#include <list>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/dynamic/region_builder.h"
#include "pippin/engine/dynamic/run_io.h"
#include "pippin/engine/run/profile.h"
#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Block;
using mil::Operation;
using mil::Tensor;
using mil::Var;

// A region's plan and the memory to run it.
struct ReadyRegion {
  std::unique_ptr<PlannedRegion> region;
  std::unique_ptr<Execution> execution;
};

class DynamicRunner final : public Runner, private mil::Environment {
 public:
  DynamicRunner(const mil::Model& model, std::string_view function, ThreadPool& pool,
                const RunnerOptions& options)
      : function_(model.program.function(function)),
        opset_(function_.opset_version()),
        uses_(function_),
        pool_(pool),
        options_(options) {
    mil::for_each_operation(function_.block(), [&](const Operation& operation) {
      if (mil::find_op(operation.type(), opset_) != nullptr) return;
      fail(ErrorCode::Unsupported, "op '{}' (value '{}') is not supported in opset {}",
           operation.type(), operation.outputs().empty() ? "" : operation.output()->name,
           mil::to_string(opset_));
    });
  }

  NamedHostTensors run(const NamedHostTensors& inputs, State& state) override {
    const mil::ElementLimit limit(options_.max_elements);
    state_ = &state;
    loops_ = {options_.max_iterations, 0};
    trace_.clear();
    values_.clear();
    bind_inputs(inputs);
    run_operations(function_.block());
    NamedHostTensors outputs;
    for (const Var* var : function_.block().outputs()) {
      outputs.emplace(var->name, to_output(*var, value_of(var)));
    }
    values_.clear();
    return outputs;
  }

  std::string describe() const override { return trace_; }

 private:
  static constexpr size_t kMaxPlans = 16;  // per place; the least recently used is evicted

  // --- values ---

  void bind_inputs(const NamedHostTensors& inputs) {
    for (const auto& var : function_.inputs) {
      if (var->type.is_state()) continue;
      const auto found = inputs.find(var->name);
      if (found == inputs.end())
        fail(ErrorCode::InvalidArgument, "input '{}' is missing", var->name);
      values_[var.get()] = to_input(*var, found->second);
    }
  }

  const RunValue& value_of(const Var* var) {
    const auto found = values_.find(var);
    if (found != values_.end()) return found->second;
    if (var->producer == nullptr || !mil::is_constant(*var->producer)) {
      fail(ErrorCode::InvalidFile, "'{}' is used before its definition", var->name);
    }
    const auto known = constants_.find(var);
    if (known != constants_.end()) return known->second;
    const Operation& producer = *var->producer;
    std::vector<Tensor> results = mil::evaluate_operation(producer, opset_, *this);
    for (size_t i = 0; i < results.size(); ++i) {
      constants_.insert_or_assign(producer.output(i), RunValue(std::move(results[i])));
    }
    return constants_.at(var);
  }

  const Tensor& tensor_of(const Var* var) override { return value_of(var).tensor(); }

  mil::LoopBudget* loop_budget() override { return &loops_; }

  // --- running ---

  std::vector<Tensor> run_block(const Block& block, std::vector<Tensor> inputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[block.inputs().at(i).get()] = RunValue(std::move(inputs[i]));
    }
    run_operations(block);
    std::vector<Tensor> outputs;
    for (const Var* var : block.outputs()) outputs.push_back(value_of(var).tensor());
    return outputs;
  }

  void run_operations(const Block& block) {
    const auto& operations = block.operations();
    for (size_t next = 0; next < operations.size();) {
      check_cancel();
      const Operation& operation = *operations[next];
      if (mil::is_constant(operation)) {
        ++next;
      } else if (needs_interpreter(operation)) {
        interpret(operation);
        ++next;
      } else {
        next = run_region(block, next);
      }
    }
  }

  void interpret(const Operation& operation) {
    const bool is_flow = !operation.blocks().empty();  // its operations are recorded one by one
    if (!is_flow) check_shapes(operation);
    const auto begin = Profile::Clock::now();
    std::vector<Tensor> results = mil::evaluate_operation(operation, opset_, *this);
    if (Profile* profile = active_profile(); profile != nullptr && !is_flow) {
      profile->add_operation(operation.type(), begin, Profile::Clock::now());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      values_[operation.output(i)] = RunValue(std::move(results[i]));
    }
    if (options_.trace) trace_ += fmt::format("{} (reference)\n", operation.type());
  }

  // Value rules rely on the op's shape rule.
  void check_shapes(const Operation& operation) {
    std::map<const Var*, mil::ValueInfo> infos;
    const std::function<const mil::ValueInfo&(const Var*)> info_of =
        [&](const Var* var) -> const mil::ValueInfo& {
      const auto found = infos.find(var);
      if (found != infos.end()) return found->second;
      mil::ValueInfo info = info_of_value(value_of(var), true);
      info.constant = mil::constant_of(var);
      return infos.emplace(var, std::move(info)).first->second;
    };
    std::vector<mil::Constraint> constraints;
    mil::infer_operation(operation, opset_, info_of, constraints);
  }

  size_t run_region(const Block& block, size_t start) {
    ReadyRegion* ready = find_region(block, start, false);
    if (ready == nullptr) {
      interpret(*block.operations()[start]);
      return start + 1;
    }
    try {
      execute(*ready);
    } catch (const Error& error) {
      // A position outside the symbols' relations may still be valid as a number.
      if (error.code() != ErrorCode::InvalidArgument || !has_positions(*ready->region)) throw;
      ready = find_region(block, start, true);
      if (ready == nullptr) throw;
      execute(*ready);
    }
    return ready->region->stop;
  }

  static bool has_positions(const PlannedRegion& region) {
    return std::any_of(region.inputs.begin(), region.inputs.end(),
                       [](const auto& input) { return input.position; });
  }

  // Returns a plan for the current values, an existing or a new one; null if they cannot be
  // planned.
  ReadyRegion* find_region(const Block& block, size_t start, bool numbers_only) {
    auto& plans = plans_[{&block, start}];
    const std::function<const RunValue&(const Var*)> values =
        [this](const Var* var) -> const RunValue& { return value_of(var); };
    for (auto it = plans.begin(); it != plans.end(); ++it) {
      if (numbers_only && has_positions(*it->region)) continue;
      if (!it->region->fits(values)) continue;
      plans.splice(plans.begin(), plans, it);
      return &plans.front();
    }
    const auto begin = Profile::Clock::now();
    ReadyRegion ready;
    ready.region = build_region({block, start, opset_, options_.compute, uses_,
                                 options_.max_elements, numbers_only, values});
    if (ready.region == nullptr) return nullptr;
    if (ready.region->plan != nullptr) {
      ready.execution = std::make_unique<Execution>(ready.region->plan, pool_);
    }
    if (Profile* profile = active_profile()) {
      profile->add_span("plan", begin, Profile::Clock::now());
    }
    plans.push_front(std::move(ready));
    if (plans.size() > kMaxPlans) plans.pop_back();
    return &plans.front();
  }

  void execute(ReadyRegion& ready) {
    if (ready.execution == nullptr) return;
    const PlannedRegion& region = *ready.region;
    std::vector<std::vector<int64_t>> shapes;
    for (const auto& input : region.inputs) shapes.push_back(input.shape);
    Execution& execution = *ready.execution;
    execution.bind(shapes, *state_);
    for (size_t i = 0; i < region.inputs.size(); ++i) {
      const Var& var = *region.inputs[i].var;
      copy_input(value_of(&var), var, execution, i);
    }
    execution.run_cancellable();
    for (size_t i = 0; i < region.outputs.size(); ++i) {
      values_[region.outputs[i]] = copy_output(execution, i, *region.outputs[i]);
    }
    if (options_.trace) trace_ += region.plan->describe();
  }

  const mil::Function& function_;
  const mil::Opset opset_;
  const Uses uses_;
  ThreadPool& pool_;
  const RunnerOptions options_;
  State* state_ = nullptr;
  mil::LoopBudget loops_;
  std::string trace_;
  std::unordered_map<const Var*, RunValue> values_;
  std::unordered_map<const Var*, RunValue> constants_;
  std::map<std::pair<const Block*, size_t>, std::list<ReadyRegion>> plans_;
};

}  // namespace

std::unique_ptr<Runner> make_dynamic_runner(const mil::Model& model, std::string_view function,
                                            ThreadPool& pool, const RunnerOptions& options) {
  return std::make_unique<DynamicRunner>(model, function, pool, options);
}

}  // namespace pippin::engine
