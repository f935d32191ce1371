#include "pippin/engine/run/cpu_plan.h"

#include <fmt/format.h>

#include "pippin/engine/nodes/print.h"
#include "pippin/io/json.h"

namespace pippin::engine {

std::string CpuPlan::describe() const {
  std::string text;
  for (const auto& step : steps) {
    text += step->name();
    for (size_t i = 0; i < step->views.size(); ++i) {
      text += fmt::format("{}{}{}",
                          i == step->num_written ? " <- "
                          : i == 0               ? " "
                                                 : ", ",
                          engine::to_string(step->views[i].storage),
                          mil::to_string(step->views[i].shape));
    }
    text += "\n";
  }
  return text;
}

std::string CpuPlan::nodes_text() const {
  std::string text;
  for (const Node& node : nodes) text += node_text(node, buffers) + "\n";
  return text;
}

std::string CpuPlan::nodes_json() const {
  JsonWriter json;
  json.begin_array();
  for (const Node& node : nodes) write_node(json, node, buffers);
  return json.end_array().text();
}

}  // namespace pippin::engine
