// A command of the shell that runs beside the chat.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace pippin::shell {

class CommandRun {
 public:
  static constexpr size_t kMostOutput = size_t{64} << 10;

  // Begins it, with `input` to read and `variables` in its environment. Throws Io.
  CommandRun(const std::string& command, std::string_view input,
             const std::map<std::string, std::string>& variables = {});
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;
  ~CommandRun();  // ends it

  // Waits for so long at most. Whether it has ended.
  bool wait(int milliseconds);
  // What it wrote, to either of its outputs, as valid UTF-8; the first part of a long text, and
  // words about that and about a status that is not 0.
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
