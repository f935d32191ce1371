// Runs the commands of the tools of the server's models, each only when a client requests that very
// call: the page does so after its user allowed it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/threads/cancel.h"
#include "pippin/server/workers.h"
#include "pippin/shell/chat_tool.h"

namespace pippin::server {

// Thread-safe.
class ToolRunner {
 public:
  ToolRunner(std::vector<shell::ChatTool> tools, std::chrono::milliseconds limit);
  ToolRunner(const ToolRunner&) = delete;
  ToolRunner& operator=(const ToolRunner&) = delete;
  ~ToolRunner();  // ends running commands

  const std::vector<shell::ChatTool>& tools() const { return tools_; }
  // Throws ApiError(404) for an unknown name.
  const shell::ChatTool& find(std::string_view name) const;
  // Runs the command in a separate thread. `done` gets its output, and whether the time limit ended
  // it. If `is_gone` returns true meanwhile, the command is ended and `done` is not called. Throws
  // ApiError: 503 if too many commands run, 400 for arguments that no command can take.
  void run(const shell::ChatTool& tool, const std::string& arguments, std::function<bool()> is_gone,
           std::function<void(std::string output, bool is_cut)> done);

 private:
  const std::vector<shell::ChatTool> tools_;
  const std::chrono::milliseconds limit_;
  CancelToken is_stopping_;
  Workers workers_;  // destroyed first
};

}  // namespace pippin::server
