#include "pippin/cli/node_list.h"

#include <functional>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/engine/plan.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using Visit = std::function<void(const std::string& name, const engine::Plan& plan)>;

void visit_plans(const mil::Model& model, const std::string& stage, const Visit& visit) {
  for (size_t i = 0; i < model.stages.size(); ++i) {
    visit_plans(model.stages[i].model, fmt::format("{}stage {} ", stage, i), visit);
  }
  if (!model.has_program()) return;
  for (const mil::FunctionDescription& function : model.functions) {
    visit(stage + function.name, *engine::Plan::make(model, function.name));
  }
}

}  // namespace

std::string node_list(const mil::Model& model, bool json) {
  if (!json) {
    std::string text;
    visit_plans(model, "", [&](const std::string& name, const engine::Plan& plan) {
      text += fmt::format("{}{}: {} of working memory, {} of weights a run\n{}",
                          text.empty() ? "" : "\n", name, format_bytes(plan.arena_bytes()),
                          format_bytes(plan.weight_bytes()), plan.nodes_text());
    });
    return text;
  }
  JsonWriter writer(2);
  writer.begin_object().key("functions").begin_array();
  visit_plans(model, "", [&](const std::string& name, const engine::Plan& plan) {
    writer.begin_object();
    writer.member("name", name);
    writer.member("arena_bytes", plan.arena_bytes());
    writer.member("weight_bytes", plan.weight_bytes());
    writer.key("nodes").raw(plan.nodes_json());
    writer.end_object();
  });
  writer.end_array().end_object();
  return writer.text() + "\n";
}

}  // namespace pippin::cli
