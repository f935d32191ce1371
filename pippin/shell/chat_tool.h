// Tools that the model of a chat can call: shell commands of the user.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::shell {

struct ChatTool {
  std::string name, command, description;
  std::string parameters;   // JSON Schema of its arguments
  bool is_allowed = false;  // runs without confirmation
};

// Parses "NAME=COMMAND". Each {word} in the command stands for an argument, a text
// (shell_places.h). Throws InvalidArgument.
ChatTool read_chat_tool(const std::string& text);
// Takes descriptions and parameters of the tools from a list in OpenAI's format. Throws
// InvalidArgument for a tool without a command.
void describe_tools(std::vector<ChatTool>& tools, const Json& definitions);
// Returns the tools in a request's format.
std::string tools_json(const std::vector<ChatTool>& tools);

// A call, for CommandRun. Arguments come from the model: they are passed as environment variables,
// each a single word, and are not part of the text that the shell parses.
struct ToolCommand {
  std::string program;
  std::map<std::string, std::string> variables;  // environment variables
  std::string shown;  // the command with the arguments filled in, for display
};
// `arguments` is a JSON object. Throws InvalidArgument if an argument is missing or cannot be
// passed to a command.
ToolCommand command_for(const ChatTool& tool, std::string_view arguments);

}  // namespace pippin::shell
