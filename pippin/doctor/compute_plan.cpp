#include "pippin/doctor/compute_plan.h"

#include <functional>

#include <fmt/format.h>

#include "pippin/doctor/examine.h"
#include "pippin/io/json.h"

namespace pippin::doctor {
namespace {

using Visit = std::function<void(const std::string& stage, const FunctionEstimate& function)>;

void visit_functions(const mil::Model& model, const std::string& stage, const Visit& visit) {
  for (size_t i = 0; i < model.stages.size(); ++i) {
    visit_functions(model.stages[i].model,
                    (stage.empty() ? "" : stage + ", ") + mil::stage_name(model, i), visit);
  }
  if (!model.has_program()) return;
  const PackageEstimate all = estimate(model, examine_model(model));
  for (const FunctionEstimate& function : all.functions) visit(stage, function);
}

std::string name_of(const mil::Operation& operation) {
  return operation.outputs().empty() ? std::string() : operation.output()->name;
}

// Excludes operations that do not run: constants, and those with blocks.
bool is_listed(const PlannedOperation& planned) {
  return planned.device != Device::None;
}

}  // namespace

std::string plan_text(const mil::Model& model) {
  std::string text;
  visit_functions(model, {}, [&](const std::string& stage, const FunctionEstimate& function) {
    text += fmt::format(
        "function {}{}: {:.1f} % of the work can be on the Neural Engine, in {} "
        "pieces (estimated)\n",
        function.name, stage.empty() ? "" : " of " + stage, 100 * function.engine_share,
        function.pieces);
    for (const PlannedOperation& planned : function.operations) {
      if (!is_listed(planned)) continue;
      text += fmt::format("  {:>6.2f} %  {:<13}  {:<28}  {}{}\n", 100 * planned.share,
                          to_string(planned.device), planned.operation->type(),
                          name_of(*planned.operation),
                          planned.rule == nullptr ? "" : fmt::format("  [{}]", planned.rule->id));
    }
  });
  return text;
}

std::string plan_json(const mil::Model& model) {
  JsonWriter json(1);
  json.begin_object().member("estimated", true).key("functions").begin_array();
  visit_functions(model, {}, [&](const std::string& stage, const FunctionEstimate& function) {
    json.begin_object().member("name", function.name);
    if (!stage.empty()) json.member("stage", stage);
    json.member("neural_engine_share", function.engine_share)
        .member("pieces", function.pieces)
        .key("operations")
        .begin_array();
    for (const PlannedOperation& planned : function.operations) {
      if (!is_listed(planned)) continue;
      json.begin_object()
          .member("type", planned.operation->type())
          .member("name", name_of(*planned.operation))
          .member("device", to_string(planned.device))
          .member("share", planned.share);
      if (planned.rule != nullptr) json.member("rule", planned.rule->id);
      json.end_object();
    }
    json.end_array().end_object();
  });
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace pippin::doctor
