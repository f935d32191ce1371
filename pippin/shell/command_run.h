// Runs a shell command in the background of a chat.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace pippin::shell {

class CommandRun {
 public:
  static constexpr size_t kMostOutput = size_t{64} << 10;

  // Starts the command with `input` on stdin and `variables` in its environment. Throws Io.
  CommandRun(const std::string& command, std::string_view input,
             const std::map<std::string, std::string>& variables = {});
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;
  ~CommandRun();  // kills it

  // Waits up to `milliseconds`. Returns whether the command has ended.
  bool wait(int milliseconds);
  // Returns its stdout and stderr as valid UTF-8, truncated if long, with notes about the
  // truncation and about a nonzero status.
  std::string output() const;

 private:
  void end() noexcept;

  pid_t process_ = -1;
  int read_ = -1;
  std::string output_;
  size_t dropped_ = 0;  // bytes
  int status_ = 0;
};

}  // namespace pippin::shell
