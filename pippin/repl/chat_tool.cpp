#include "pippin/repl/chat_tool.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::repl {
namespace {

// Calls `take` with each {word}, but for the shell's own ${word}, and `keep` with what is between.
void each_place(std::string_view command, const std::function<void(std::string_view)>& keep,
                const std::function<void(std::string_view)>& take) {
  size_t begin = 0;
  for (size_t open = command.find('{'); open != std::string_view::npos;
       open = command.find('{', open + 1)) {
    size_t end = open + 1;
    const auto is_word = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    while (end < command.size() && is_word(command[end])) ++end;
    const bool is_place = end > open + 1 && end < command.size() && command[end] == '}' &&
                          (open == 0 || command[open - 1] != '$');
    if (!is_place) continue;
    keep(command.substr(begin, open - begin));
    take(command.substr(open + 1, end - open - 1));
    begin = end + 1;
    open = end;
  }
  keep(command.substr(begin));
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c != '\0') {
      result += c;
    }
  }
  return result + "'";
}

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
  each_place(
      tool.command, [](std::string_view) {},
      [&](std::string_view place) {
        if (std::find(places.begin(), places.end(), place) == places.end()) {
          places.emplace_back(place);
        }
      });
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

std::string command_for(const ChatTool& tool, std::string_view arguments) {
  const Json given = Json::parse(arguments.empty() ? "{}" : arguments, "arguments");
  std::string command;
  each_place(
      tool.command, [&](std::string_view text) { command += text; },
      [&](std::string_view place) {
        const auto value = given.is_object() ? given.find(place) : std::nullopt;
        if (!value) {
          fail(ErrorCode::InvalidArgument, "the argument \"{}\" is missing", place);
        }
        command +=
            shell_quoted(value->is_string() ? std::string(value->as_string()) : value->dump());
      });
  return command;
}

}  // namespace pippin::repl
