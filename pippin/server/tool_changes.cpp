#include "pippin/server/tool_changes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

using model_output::Tool;

class ToolList {
 public:
  explicit ToolList(std::vector<Tool> listed) : tools_(std::move(listed)) {}

  void load(std::string_view name) {
    for (Tool& tool : tools_) {
      if (tool.name == name) tool.is_deferred = false;
    }
  }
  void remove(std::string_view name) {
    std::erase_if(tools_, [&](const Tool& tool) { return tool.name == name; });
  }
  void add(const Json& definition) {
    std::vector<std::string> others;
    const std::string list = "[" + definition.dump() + "]";
    for (Tool& tool : model_output::read_anthropic_tools(Json::parse(list, "tool"), others)) {
      tool.is_deferred = false;
      const auto known = std::find_if(tools_.begin(), tools_.end(),
                                      [&](const Tool& one) { return one.name == tool.name; });
      if (known == tools_.end()) {
        tools_.push_back(std::move(tool));
      } else {
        *known = std::move(tool);
      }
    }
  }
  std::vector<Tool> loaded() && {
    std::erase_if(tools_, [](const Tool& tool) { return tool.is_deferred; });
    return std::move(tools_);
  }

 private:
  std::vector<Tool> tools_;
};

void change(const Json& block, ToolList& tools) {
  if (!block.is_object()) return;
  const std::string type = text_in(block, "type");
  if (type == "tool_reference") return tools.load(text_in(block, "tool_name"));
  if (type == "tool_result" || type == "tool_search_tool_result") {
    const auto content = block.find("content");
    if (!content || !content->is_array()) return;
    for (const Json& part : content->elements()) change(part, tools);
    return;
  }
  const auto tool = block.find("tool");
  if (!tool || !tool->is_object()) return;
  const auto definition = tool->find("definition");
  if (type == "tool_removal") return tools.remove(text_in(*tool, "name"));
  if (type != "tool_addition") return;
  if (!definition) return tools.load(text_in(*tool, "name"));
  if (!definition->is_object()) definition->invalid("expected a tool");
  tools.add(*definition);
}

}  // namespace

std::vector<Tool> changed_tools(std::vector<Tool> listed, const Json& messages) {
  ToolList tools(std::move(listed));
  if (!messages.is_array()) return std::move(tools).loaded();
  for (const Json& message : messages.elements()) {
    const auto content = message.is_object() ? message.find("content") : std::nullopt;
    if (!content || !content->is_array()) continue;
    for (const Json& block : content->elements()) change(block, tools);
  }
  return std::move(tools).loaded();
}

}  // namespace pippin::server
