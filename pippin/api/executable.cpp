#include "pippin/api/executable.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/api/feature.h"
#include "pippin/api/planned_call.h"
#include "pippin/api/ready_calls.h"
#include "pippin/api/tabular_executable.h"
#include "pippin/api/targets.h"
#include "pippin/base/error.h"

namespace pippin::api {
namespace {

const FeatureInfo* find(const std::vector<FeatureInfo>& features, std::string_view name) {
  for (const FeatureInfo& feature : features) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

std::string input_context(const FeatureInfo& feature) {
  return fmt::format("input '{}'", feature.name);
}

// Translated models compute in double precision, the reference interpreter's.
engine::RunnerOptions options_for(const mil::Model& model, engine::RunnerOptions options) {
  if (model.is_translated()) options.compute.precision = Precision::Reference;
  return options;
}

class ProgramExecutable : public Executable {
 public:
  ProgramExecutable(const mil::Model& model, const mil::FunctionDescription& description,
                    ThreadPool& pool, const engine::RunnerOptions& options)
      : Executable(description),
        model_(model),
        name_(description.name),
        pool_(pool),
        options_(options_for(model, options)),
        runner_(engine::Runner::make(model, description.name, pool, options_)) {}

  Values run(const Values& inputs, engine::State& state) override {
    if (PlannedCall* call = find_call(inputs)) {
      if (auto results = call->run(inputs, state)) return std::move(*results);
    }
    return run_in_pieces(inputs, state);
  }

  void run_into(const Values& inputs, engine::State& state, Values& outputs) override {
    PlannedCall* call = find_call(inputs);
    if (call != nullptr && call->run(inputs, state, outputs)) return;
    Values results = run_in_pieces(inputs, state);
    store(this->outputs(), results, outputs);
  }

  std::string describe() const override { return runner_->describe(); }

  std::unique_ptr<PlannedCall> plan_call(const Values& inputs, const Values* outputs) override {
    return PlannedCall::make(
        {model_, name_, this->inputs(), this->outputs(), pool_, options_, plans_}, inputs, outputs);
  }

 private:
  // The whole function as one plan, which reads inputs from the caller's memory and writes outputs
  // to it without intermediate copies; null if the runner has to plan it piece by piece, and for
  // devices, whose runner has planned it already.
  PlannedCall* find_call(const Values& inputs) {
    if (options_.compute.device != nullptr) return nullptr;
    return ready_.find(this->inputs(), inputs, [&] {
      for (const FeatureInfo& feature : this->inputs()) {
        const auto found = inputs.find(feature.name);
        if (found == inputs.end()) continue;
        with_context(input_context(feature), [&] {
          check_input(feature, found->second);
          check_size(found->second);
        });
      }
      return plan_call(inputs, nullptr);
    });
  }

  Values run_in_pieces(const Values& inputs, engine::State& state) {
    engine::NamedHostTensors hosts;
    const int64_t batch = batch_of(this->inputs(), inputs);
    for (const FeatureInfo& feature : this->inputs()) {
      with_context(input_context(feature), [&] {
        const auto found = inputs.find(feature.name);
        if (found == inputs.end()) {
          hosts.emplace(feature.name,
                        input_value(feature, default_input(feature, options_.max_elements, batch)));
        } else {
          check_size(found->second);
          hosts.emplace(feature.name, input_value(feature, found->second));
        }
      });
    }
    const engine::NamedHostTensors results = runner_->run(hosts, state);
    Values values;
    for (const FeatureInfo& feature : outputs()) {
      with_context(fmt::format("output '{}'", feature.name), [&] {
        const auto found = results.find(feature.name);
        if (found == results.end()) {
          fail(ErrorCode::InvalidFile, "the program has no such result");
        }
        values.emplace(feature.name, output_value(feature, found->second));
      });
    }
    return values;
  }

  // With strides of 0 a tensor may have more elements than there is memory for.
  void check_size(const Value& value) const {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr || tensor->size() <= options_.max_elements) return;
    fail(ErrorCode::LimitExceeded, "a value of {} elements, the limit is {}", tensor->size(),
         options_.max_elements);
  }

  const mil::Model& model_;
  const std::string name_;
  ThreadPool& pool_;
  const engine::RunnerOptions options_;
  std::unique_ptr<engine::Runner> runner_;
  SharedPlans plans_;
  ReadyCalls ready_;
};

class PipelineExecutable : public Executable {
 public:
  PipelineExecutable(const mil::Model& model, const mil::FunctionDescription& description,
                     ThreadPool& pool, const engine::RunnerOptions& options)
      : Executable(description), max_elements_(options.max_elements) {
    for (const mil::Feature& input : description.inputs) {
      if (input.optional && input.default_value.index() != 0) has_default_.insert(input.name);
    }
    for (size_t i = 0; i < model.stages.size(); ++i) {
      const mil::Model& stage = model.stages[i].model;
      contexts_.push_back(mil::stage_name(model, i));
      with_context(contexts_.back(), [&] {
        stages_.push_back(Executable::make(stage, stage.default_function, pool, options));
      });
    }
    check_flow();
  }

  Values run(const Values& inputs, engine::State& state) override {
    Values values;
    for (const FeatureInfo& feature : this->inputs()) {
      with_context(input_context(feature), [&] {
        const auto found = inputs.find(feature.name);
        if (found != inputs.end()) {
          // Converts as the pipeline declares it, then as the stage does.
          check_input(feature, found->second);
          if (feature.kind != FeatureInfo::Kind::Dictionary) input_value(feature, found->second);
          values.emplace(*found);
        } else if (has_default_.count(feature.name) > 0) {
          values.emplace(feature.name, default_input(feature, max_elements_));
        }
      });
    }
    for (size_t i = 0; i < stages_.size(); ++i) {
      with_context(contexts_[i], [&] {
        for (auto& [name, value] : stages_[i]->run(values, state)) {
          values.insert_or_assign(name, std::move(value));
        }
      });
    }
    Values results;
    for (const FeatureInfo& feature : outputs()) {
      results.emplace(feature.name, std::move(values.at(feature.name)));
    }
    return results;
  }

  std::string describe() const override {
    std::string text;
    for (size_t i = 0; i < stages_.size(); ++i) {
      text += contexts_[i] + ":\n" + stages_[i]->describe();
    }
    return text;
  }

 private:
  // Checks that every stage's inputs are available when it runs, and every output at the end.
  void check_flow() const {
    std::vector<std::string> known;
    const auto is_known = [&](const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    for (const FeatureInfo& input : inputs()) known.push_back(input.name);
    for (size_t i = 0; i < stages_.size(); ++i) {
      for (const FeatureInfo& input : stages_[i]->inputs()) {
        if (is_known(input.name) || input.optional) continue;
        fail(ErrorCode::InvalidFile,
             "{}: its input '{}' is neither an input of the pipeline nor an output of an earlier "
             "stage",
             contexts_[i], input.name);
      }
      for (const FeatureInfo& output : stages_[i]->outputs()) known.push_back(output.name);
    }
    for (const FeatureInfo& output : outputs()) {
      if (is_known(output.name)) continue;
      fail(ErrorCode::InvalidFile, "no stage produces the pipeline's output '{}'", output.name);
    }
  }

  const int64_t max_elements_;
  std::set<std::string, std::less<>> has_default_;  // inputs with a default in the pipeline
  std::vector<std::unique_ptr<Executable>> stages_;
  std::vector<std::string> contexts_;
};

}  // namespace

Executable::Executable(const mil::FunctionDescription& description)
    : inputs_(feature_infos(description.inputs)), outputs_(feature_infos(description.outputs)) {}

std::unique_ptr<Executable> Executable::make(const mil::Model& model, std::string_view function,
                                             ThreadPool& pool,
                                             const engine::RunnerOptions& options) {
  const mil::FunctionDescription& description = model.description(function);
  if (model.is_pipeline()) {
    return std::make_unique<PipelineExecutable>(model, description, pool, options);
  }
  if (model.is_tabular()) {
    return std::make_unique<TabularExecutable>(model, description, options.max_elements);
  }
  return std::make_unique<ProgramExecutable>(model, description, pool, options);
}

void Executable::check_names(const Values& inputs) const {
  for (const auto& [name, value] : inputs) {
    if (find(inputs_, name) != nullptr) continue;
    fail(ErrorCode::InvalidArgument, "no input '{}'; the model's inputs: {}", name,
         list_features(inputs_));
  }
  for (const FeatureInfo& feature : inputs_) {
    if (feature.optional || inputs.contains(feature.name)) continue;
    fail(ErrorCode::InvalidArgument, "input '{}' is missing; expected {}", feature.name,
         to_string(feature));
  }
}

void Executable::check_inputs(const Values& inputs) const {
  check_names(inputs);
  for (const FeatureInfo& feature : inputs_) {
    const auto found = inputs.find(feature.name);
    if (found == inputs.end()) continue;
    with_context(input_context(feature), [&] { check_input(feature, found->second); });
  }
}

void Executable::run_into(const Values& inputs, engine::State& state, Values& outputs) {
  Values results = run(inputs, state);
  store(outputs_, results, outputs);
}

std::unique_ptr<PlannedCall> Executable::plan_call(const Values& /*inputs*/,
                                                   const Values* /*outputs*/) {
  return nullptr;
}

void merge_states(std::vector<mil::Feature>& states, const std::vector<mil::Feature>& more) {
  for (const mil::Feature& feature : more) {
    const auto same = std::find_if(states.begin(), states.end(),
                                   [&](const auto& other) { return other.name == feature.name; });
    if (same == states.end()) {
      states.push_back(feature);
    } else if (same->shape != feature.shape || same->data_type != feature.data_type) {
      fail(ErrorCode::Unsupported, "two states have the name '{}': {} and {}", feature.name,
           to_string(feature_info(*same)), to_string(feature_info(feature)));
    }
  }
}

std::vector<mil::Feature> collect_states(const mil::Model& model, std::string_view function) {
  std::vector<mil::Feature> states = model.description(function).states;
  for (const mil::PipelineStage& stage : model.stages) {
    merge_states(states, collect_states(stage.model, stage.model.default_function));
  }
  return states;
}

}  // namespace pippin::api
