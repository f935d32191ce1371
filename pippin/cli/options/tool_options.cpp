#include "pippin/cli/options/tool_options.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::cli {

std::vector<shell::ChatTool> ToolOptions::tools() const {
  std::vector<shell::ChatTool> result;
  for (const std::string& text : commands) {
    shell::ChatTool tool;
    try {
      tool = shell::read_chat_tool(text);
    } catch (const Error& error) {
      throw CLI::ValidationError(std::string("--tool: ") + error.what());
    }
    const bool is_known =
        std::any_of(result.begin(), result.end(),
                    [&](const shell::ChatTool& other) { return other.name == tool.name; });
    if (is_known) throw CLI::ValidationError("--tool: two tools are named \"" + tool.name + "\"");
    result.push_back(std::move(tool));
  }
  if (!file.empty()) shell::describe_tools(result, Json::load(file));
  return result;
}

void add_tool_options(CLI::App& app, ToolOptions& options, const std::string& asks) {
  app.add_option("--tool", options.commands,
                 "Let the model call a command of the shell, " + asks +
                     "; {word} in it, outside quotes, stands for an argument, and all of them come "
                     "as JSON on its input; repeatable")
      ->type_name("NAME=COMMAND")
      ->allow_extra_args(false);
  app.add_option("--tools", options.file,
                 "Descriptions and parameters of these tools, a JSON list as OpenAI's clients send "
                 "it")
      ->type_name("FILE");
}

}  // namespace pippin::cli
