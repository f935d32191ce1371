// Tools that a chat's model may call: commands of the user's shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::repl {

struct ChatTool {
  std::string name, command, description;
  std::string parameters;   // the JSON Schema of its arguments
  bool is_allowed = false;  // runs without being asked for again
};

// "NAME=COMMAND". Each {word} in the command stands for an argument, which is a text. Throws
// InvalidArgument.
ChatTool read_chat_tool(const std::string& text);
// Takes descriptions and parameters of the tools from a list as OpenAI writes it. Throws
// InvalidArgument for a tool without a command.
void describe_tools(std::vector<ChatTool>& tools, const Json& definitions);
// As a request has them.
std::string tools_json(const std::vector<ChatTool>& tools);

// The command with the arguments, an object in JSON, in their places, quoted for the shell. Throws
// InvalidArgument for one that is missing.
std::string command_for(const ChatTool& tool, std::string_view arguments);

}  // namespace pippin::repl
