#include "pippin/server/tool_runner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/server/api_error.h"
#include "pippin/shell/command_run.h"

namespace pippin::server {
namespace {

constexpr size_t kMostAtOnce = 4;
constexpr size_t kMostPending = 16;
constexpr int kPollMilliseconds = 50;

}  // namespace

ToolRunner::ToolRunner(std::vector<shell::ChatTool> tools, std::chrono::milliseconds limit)
    : tools_(std::move(tools)), limit_(limit), workers_(kMostAtOnce, kMostPending) {}

ToolRunner::~ToolRunner() {
  is_stopping_.request();
}

const shell::ChatTool& ToolRunner::find(std::string_view name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const shell::ChatTool& one) { return one.name == name; });
  if (found != tools_.end()) return *found;
  throw ApiError(404, fmt::format("the server has no tool \"{}\"", name), "name");
}

void ToolRunner::run(const shell::ChatTool& tool, const std::string& arguments,
                     std::function<bool()> is_gone,
                     std::function<void(std::string output, bool is_cut)> done) {
  shell::ToolCommand command;
  try {
    command = shell::command_for(tool, arguments);
  } catch (const Error& error) {
    throw ApiError(400, error.what(), "arguments");
  }
  const bool is_taken = workers_.add([this, command = std::move(command), arguments,
                                      is_gone = std::move(is_gone), done = std::move(done)] {
    try {
      shell::CommandRun run(command.program, arguments, command.variables);
      const auto end = std::chrono::steady_clock::now() + limit_;
      while (!run.wait(kPollMilliseconds)) {
        if (is_stopping_.is_requested() || is_gone()) return;
        if (std::chrono::steady_clock::now() < end) continue;
        return done(run.output() + fmt::format("\n[the command was ended after {} s]",
                                               std::chrono::duration<double>(limit_).count()),
                    true);
      }
      done(run.output(), false);
    } catch (const Error& error) {
      done(fmt::format("error: {}", error.what()), false);
    }
  });
  if (!is_taken) throw ApiError(503, "too many tools run");
}

}  // namespace pippin::server
