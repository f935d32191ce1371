#include "pippin/server/tool_fields.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/server/api_error.h"
#include "pippin/server/request_json.h"
#include "pippin/server/tool_changes.h"

namespace pippin::server {
namespace {

using Choice = ToolRequest::Choice;
using model_output::Tool;

[[noreturn]] void refuse_choice(const std::string& what) {
  throw ApiError(400, "tool_choice: " + what, "tool_choice");
}

// Returns the tools of `names`, which must exist.
ToolRequest::Tools only(const ToolRequest::Tools& tools, const std::set<std::string>& names) {
  auto found = std::make_shared<std::vector<Tool>>();
  for (const std::string& name : names) {
    const auto tool = std::find_if(tools->begin(), tools->end(),
                                   [&](const Tool& one) { return one.name == name; });
    if (tool == tools->end()) refuse_choice("unknown tool \"" + name + "\"");
    found->push_back(*tool);
  }
  return found;
}

std::string name_in(const Json& object) {
  if (!object.is_object()) refuse_choice("expected an object with the name of a function");
  const auto function = object.find("function");
  const Json& named = function && function->is_object() ? *function : object;
  const auto name = named.find("name");
  if (!name || !name->is_string()) refuse_choice("expected the name of a function");
  return std::string(name->as_string());
}

Choice mode_of(std::string_view mode) {
  if (mode == "none") return Choice::None;
  if (mode == "auto") return Choice::Auto;
  if (mode == "required") return Choice::Required;
  refuse_choice("\"" + std::string(mode) + "\" is not none, auto or required");
}

// Reads {"type": "function", "function": {"name": ...}}, or a list of allowed tools.
void read_choice_object(const Json& choice, bool skips_others, ToolRequest& request) {
  const std::string type = find_string(choice, "type").value_or("");
  if (type == "function") {
    request.choice = Choice::Required;
    request.callable = only(request.offered, {name_in(choice)});
    request.is_parallel = false;
    return;
  }
  if (type != "allowed_tools")
    refuse_choice("the type \"" + type + "\" is not function or allowed_tools");
  const auto inner = choice.find("allowed_tools");
  const Json& allowed = inner && inner->is_object() ? *inner : choice;
  request.choice = mode_of(find_string(allowed, "mode").value_or("auto"));
  const auto tools = allowed.find("tools");
  if (!tools || !tools->is_array()) refuse_choice("allowed_tools has no tools");
  std::set<std::string> names;
  for (const Json& tool : tools->elements()) {
    const bool is_skipped = skips_others && tool.is_object() &&
                            find_string(tool, "type").value_or("function") != "function";
    if (!is_skipped) names.insert(name_in(tool));
  }
  request.callable = only(request.offered, names);
}

ToolRequest::Tools tools_of(const RequestFields& body,
                            std::vector<Tool> (*read)(const Json& tools)) {
  const auto tools = body.find("tools");
  if (!tools) return nullptr;
  std::vector<Tool> found = read_field("tools", [&] { return read(*tools); });
  if (found.empty()) return nullptr;
  return std::make_shared<std::vector<Tool>>(std::move(found));
}

ToolRequest::Tools anthropic_tools(const RequestFields& body, std::vector<std::string>& skipped) {
  return read_field("tools", [&]() -> ToolRequest::Tools {
    std::vector<std::string> others;
    std::vector<Tool> found;
    if (const auto tools = body.find("tools"))
      found = model_output::read_anthropic_tools(*tools, others);
    if (found.empty() && !others.empty()) {
      throw ApiError(400,
                     "tools[0].type: " + others[0] + " is a tool of Anthropic's, not the caller's",
                     "tools");
    }
    for (const std::string& type : others) {
      skipped.push_back("tools." + type);
      // The search for deferred tools is not supported: all are loaded.
      if (!type.starts_with("tool_search")) continue;
      for (Tool& tool : found) tool.is_deferred = false;
    }
    if (const auto messages = body.find("messages")) {
      found = changed_tools(std::move(found), *messages);
    }
    if (found.empty()) return nullptr;
    return std::make_shared<std::vector<Tool>>(std::move(found));
  });
}

// If no tool may be called, the choice is empty.
ToolRequest checked(ToolRequest request) {
  if (request.callable == nullptr || request.callable->empty()) {
    if (request.choice == Choice::Required) refuse_choice("no tools to choose from");
    request.choice = Choice::None;
  }
  if (request.choice == Choice::None) request.offered = request.callable = nullptr;
  return request;
}

// `skips_others`: lists may contain tools that are not functions.
ToolRequest openai_request(const RequestFields& body, const ToolRequest::Tools& tools,
                           bool skips_others) {
  ToolRequest request;
  request.offered = request.callable = tools;
  request.is_parallel = find_bool(body, "parallel_tool_calls").value_or(true);
  request.id_prefix = "call_";
  request.choice = request.offered == nullptr ? Choice::None : Choice::Auto;
  if (const auto choice = body.find("tool_choice")) {
    if (choice->is_string()) {
      request.choice = mode_of(choice->as_string());
    } else if (!choice->is_object()) {
      refuse_choice("expected a string or an object");
    } else if (request.offered == nullptr) {
      refuse_choice("no tools to choose from");
    } else {
      read_choice_object(*choice, skips_others, request);
    }
  }
  return checked(std::move(request));
}

}  // namespace

bool ToolRequest::is_constrained() const {
  if (choice == Choice::Required) return true;
  return choice == Choice::Auto && std::any_of(callable->begin(), callable->end(),
                                               [](const Tool& tool) { return tool.is_strict; });
}

ToolRequest read_tool_request(const RequestFields& body) {
  return openai_request(body, tools_of(body, model_output::read_tools), false);
}

ToolRequest read_response_tool_request(const RequestFields& body) {
  return openai_request(body, tools_of(body, model_output::read_response_tools), true);
}

ToolRequest read_anthropic_tool_request(const RequestFields& body) {
  ToolRequest request;
  request.offered = request.callable = anthropic_tools(body, request.skipped);
  request.id_prefix = "toolu_";
  request.choice = request.offered == nullptr ? Choice::None : Choice::Auto;
  if (const auto choice = body.find("tool_choice")) {
    if (!choice->is_object()) refuse_choice("expected an object");
    const std::string type = find_string(*choice, "type").value_or("");
    request.is_parallel = !find_bool(*choice, "disable_parallel_tool_use").value_or(false);
    if (type == "tool") {
      if (request.offered == nullptr) refuse_choice("no tools to choose from");
      request.choice = Choice::Required;
      request.callable = only(request.offered, {name_in(*choice)});
      request.is_parallel = false;
    } else if (type == "any") {
      request.choice = Choice::Required;
    } else if (type == "none") {
      request.choice = Choice::None;
    } else if (type != "auto") {
      refuse_choice("the type \"" + type + "\" is not auto, any, tool or none");
    }
  }
  return checked(std::move(request));
}

std::function<std::string()> call_ids(const std::string& prefix, bool are_short) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const auto random = std::make_shared<std::mt19937_64>(std::random_device()());
  return [prefix, are_short, random, kLetters] {
    std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
    std::string id(are_short ? 9 : 24, ' ');
    for (char& c : id) c = kLetters[letter(*random)];
    return are_short ? id : prefix + id;
  };
}

}  // namespace pippin::server
