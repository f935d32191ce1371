// Tools that a chat's model may call: commands of the user's shell.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::shell {

struct ChatTool {
  std::string name, command, description;
  std::string parameters;   // the JSON Schema of its arguments
  bool is_allowed = false;  // runs without being asked for again
};

// "NAME=COMMAND". Each {word} in the command stands for an argument, which is a text
// (shell_places.h). Throws InvalidArgument.
ChatTool read_chat_tool(const std::string& text);
// Takes descriptions and parameters of the tools from a list as OpenAI writes it. Throws
// InvalidArgument for a tool without a command.
void describe_tools(std::vector<ChatTool>& tools, const Json& definitions);
// As a request has them.
std::string tools_json(const std::vector<ChatTool>& tools);

// A call, for CommandRun. Arguments are the model's: they reach the command as variables, each of
// them one word, and are not part of the text that the shell reads.
struct ToolCommand {
  std::string program;
  std::map<std::string, std::string> variables;  // of the environment
  std::string shown;  // the same with the arguments in their places, for people
};
// With the arguments, an object in JSON. Throws InvalidArgument for one that is missing or that no
// command can take.
ToolCommand command_for(const ChatTool& tool, std::string_view arguments);

}  // namespace pippin::shell
