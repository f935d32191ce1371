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

  // Throws CLI::ValidationError, and for the file the errors of Json::load() and describe_tools().
  std::vector<shell::ChatTool> tools() const;
};

// `asks` is a part of the help: it says who allows each call.
void add_tool_options(CLI::App& app, ToolOptions& options, const std::string& asks);

}  // namespace pippin::cli
