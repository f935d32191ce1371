// Commands that the server's models may have run, each when a client asks for that very call: the
// page does after its user allowed it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/cancel.h"
#include "pippin/server/workers.h"
#include "pippin/shell/chat_tool.h"

namespace pippin::server {

// Any thread.
class ToolRunner {
 public:
  ToolRunner(std::vector<shell::ChatTool> tools, std::chrono::milliseconds limit);
  ToolRunner(const ToolRunner&) = delete;
  ToolRunner& operator=(const ToolRunner&) = delete;
  ~ToolRunner();  // ends the commands that run

  const std::vector<shell::ChatTool>& tools() const { return tools_; }
  // Throws ApiError(404).
  const shell::ChatTool& find(std::string_view name) const;
  // Runs the command in a thread of its own. `done` gets its output, and whether it was ended at
  // the limit; it is not called if `is_gone` says so meanwhile, which ends the command. Throws
  // ApiError: 503 if too many run, 400 for arguments that no command can take.
  void run(const shell::ChatTool& tool, const std::string& arguments, std::function<bool()> is_gone,
           std::function<void(std::string output, bool is_cut)> done);

 private:
  const std::vector<shell::ChatTool> tools_;
  const std::chrono::milliseconds limit_;
  CancelToken is_stopping_;
  Workers workers_;  // first to go
};

}  // namespace pippin::server
