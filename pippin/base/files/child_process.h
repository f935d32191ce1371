// Runs another program to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin {

struct ChildResult {
  enum class End : uint8_t { Exited, Signalled, TimedOut };
  End end = End::Exited;
  int status = 0;         // exit status, or the signal
  std::string last_line;  // last non-empty line that it wrote to stderr
};

// `command` has the program's path and its arguments. Its stdin and stdout are empty. If it takes
// longer than `limit`, it is killed. Throws NotFound if it cannot be started, and Cancelled if the
// call is cancelled (base/threads/cancel.h), after the child has ended.
ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace pippin
