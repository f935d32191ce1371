#include "pippin/shell/chat_tool.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/shell/shell_places.h"

namespace pippin::shell {
namespace {

constexpr std::string_view kVariable = "PIPPIN_ARGUMENT_";

}  // namespace

ChatTool read_chat_tool(const std::string& text) {
  const size_t equals = text.find('=');
  const bool fits =
      equals != std::string::npos && equals > 0 && equals + 1 < text.size() &&
      std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(equals), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
      });
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "\"{}\" is not of the form NAME=COMMAND, with a name of letters, digits, '_' and '-'",
         text);
  }
  ChatTool tool{text.substr(0, equals), text.substr(equals + 1), {}, {}};
  tool.description = "Runs: " + tool.command;
  std::vector<std::string> places;
  for (const ShellPlace& place : find_shell_places(tool.command)) {
    if (std::find(places.begin(), places.end(), place.word) == places.end()) {
      places.emplace_back(place.word);
    }
  }
  JsonWriter json;
  json.begin_object().member("type", "object").key("properties").begin_object();
  for (const std::string& place : places) {
    json.key(place).begin_object().member("type", "string").end_object();
  }
  json.end_object().member("required", places);
  tool.parameters = json.end_object().text();
  return tool;
}

void describe_tools(std::vector<ChatTool>& tools, const Json& definitions) {
  for (const Json& definition : definitions.elements()) {
    const auto inner = definition.find("function");
    const Json& function = inner ? *inner : definition;
    const std::string name = function.get_string("name");
    const auto tool = std::find_if(tools.begin(), tools.end(),
                                   [&](const ChatTool& one) { return one.name == name; });
    if (tool == tools.end()) {
      fail(ErrorCode::InvalidArgument, "{}: the tool \"{}\" has no command: --tool '{}=COMMAND'",
           definition.where(), name, name);
    }
    tool->description = function.get_string_or("description", tool->description);
    if (const auto parameters = function.find("parameters")) tool->parameters = parameters->dump();
  }
}

std::string tools_json(const std::vector<ChatTool>& tools) {
  JsonWriter json;
  json.begin_array();
  for (const ChatTool& tool : tools) {
    json.begin_object().member("type", "function").key("function").begin_object();
    json.member("name", tool.name).member("description", tool.description);
    json.key("parameters").raw(tool.parameters).end_object().end_object();
  }
  return json.end_array().text();
}

ToolCommand command_for(const ChatTool& tool, std::string_view arguments) {
  const Json given = Json::parse(arguments.empty() ? "{}" : arguments, "arguments");
  ToolCommand command;
  const std::string_view text = tool.command;
  size_t done = 0;
  for (const ShellPlace& place : find_shell_places(text)) {
    const auto value = given.is_object() ? given.find(place.word) : std::nullopt;
    if (!value) {
      fail(ErrorCode::InvalidArgument, "the argument \"{}\" is missing", place.word);
    }
    std::string argument = value->is_string() ? std::string(value->as_string()) : value->dump();
    if (argument.find('\0') != std::string::npos) {
      fail(ErrorCode::InvalidArgument,
           "the argument \"{}\" has a character NUL, which no command can take", place.word);
    }
    const std::string_view before = text.substr(done, place.begin - done);
    done = place.end;
    command.shown += before;
    command.shown += shell_quoted(argument);
    command.program += fmt::format("{}\"${{{}{}}}\"", before, kVariable, place.word);
    command.variables.insert_or_assign(fmt::format("{}{}", kVariable, place.word),
                                       std::move(argument));
  }
  command.shown += text.substr(done);
  command.program += text.substr(done);
  return command;
}

}  // namespace pippin::shell
