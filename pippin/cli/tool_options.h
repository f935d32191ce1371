// --tool and --tools: commands that a model may call.
#pragma once

#include <string>
#include <vector>

#include "pippin/shell/chat_tool.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct ToolOptions {
  std::vector<std::string> commands;  // "NAME=COMMAND"
  std::string file;                   // descriptions and parameters

  // Throws CLI::ValidationError, and as Json::load() and describe_tools() for the file.
  std::vector<shell::ChatTool> tools() const;
};

// `asks` says who allows each call: a part of the help.
void add_tool_options(CLI::App& app, ToolOptions& options, const std::string& asks);

}  // namespace pippin::cli
