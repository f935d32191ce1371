#include "pippin/cli/bench/core_ml_plan.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/coreml/compute_plan.h"
#include "pippin/doctor/examine.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using coreml::ComputeDevice;
using coreml::FunctionPlan;
using coreml::OperationPlan;

constexpr std::array<std::pair<ComputeDevice, const char*>, 3> kDevices = {{
    {ComputeDevice::NeuralEngine, "neural_engine_share"},
    {ComputeDevice::Gpu, "gpu_share"},
    {ComputeDevice::Cpu, "cpu_share"},
}};

// The doctor's findings against the Neural Engine, by the names of results.
using Rules = std::map<std::string, std::string, std::less<>>;

std::map<std::string, Rules> rules_of(const mil::Model& model) {
  std::map<std::string, Rules> rules;
  const auto estimate = doctor::estimate(model, doctor::examine_model(model));
  for (const doctor::FunctionEstimate& function : estimate.functions) {
    for (const doctor::PlannedOperation& planned : function.operations) {
      if (planned.rule == nullptr || planned.operation->outputs().empty()) continue;
      rules[function.name].emplace(planned.operation->output()->name, planned.rule->id);
    }
  }
  return rules;
}

std::string find_rule(const Rules& rules, const OperationPlan& operation) {
  const auto found = rules.find(operation.output);
  return found == rules.end() ? "" : found->second;
}

std::string text_of(const FunctionPlan& plan, const Rules& rules) {
  std::string text = fmt::format("function {}: of the cost", plan.function);
  for (const auto& [device, name] : kDevices) {
    text += fmt::format("{} {:.1f} % on the {}", device == kDevices.front().first ? "" : ",",
                        100 * plan.share(device), to_string(device));
  }
  text += " (by Core ML)\n";
  for (const OperationPlan& operation : plan.operations) {
    if (!operation.preferred) continue;
    std::string others;
    for (const ComputeDevice device : operation.supported) {
      if (device == operation.preferred) continue;
      others += fmt::format("{}{}", others.empty() ? "  or " : ", ", to_string(device));
    }
    const std::string rule = find_rule(rules, operation);
    text += fmt::format("  {:>6.2f} %  {:<13}  {:<28}  {}{}{}\n", 100 * operation.cost.value_or(0),
                        to_string(*operation.preferred), operation.type, operation.output, others,
                        rule.empty() ? "" : fmt::format("  [{}]", rule));
  }
  return text;
}

void write(JsonWriter& json, const FunctionPlan& plan, const Rules& rules) {
  json.begin_object().member("name", plan.function);
  for (const auto& [device, name] : kDevices) json.member(name, plan.share(device));
  json.key("operations").begin_array();
  for (const OperationPlan& operation : plan.operations) {
    if (!operation.preferred) continue;
    json.begin_object()
        .member("type", operation.type)
        .member("name", operation.output)
        .member("device", to_string(*operation.preferred))
        .key("supported")
        .begin_array();
    for (const ComputeDevice device : operation.supported) json.value(to_string(device));
    json.end_array();
    if (operation.cost) json.member("share", *operation.cost);
    const std::string rule = find_rule(rules, operation);
    if (!rule.empty()) json.member("rule", rule);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string core_ml_plan(const mil::Model& model, const BackendChoice& choice, bool json) {
  const auto plans = coreml::ask_plans(model, default_load_cache(), core_ml_options(choice));
  auto rules = rules_of(model);
  if (json) {
    JsonWriter writer(1);
    writer.begin_object()
        .member("estimated", false)
        .member("compute_units", choice.units)
        .key("functions")
        .begin_array();
    for (const FunctionPlan& plan : plans) write(writer, plan, rules[plan.function]);
    writer.end_array().end_object();
    return writer.text() + "\n";
  }
  std::string text;
  for (const FunctionPlan& plan : plans) text += text_of(plan, rules[plan.function]);
  return text;
}

}  // namespace pippin::cli
