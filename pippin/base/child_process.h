// Another program, run to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin {

struct ChildResult {
  enum class End : uint8_t { Exited, Signalled, TimedOut };
  End end = End::Exited;
  int status = 0;         // with which it exited, or the signal
  std::string last_line;  // that is not empty, of what it wrote to stderr
};

// `command` is the program's path and its arguments. Its stdin and stdout are empty. One that takes
// longer than `limit` is killed. Throws NotFound where it cannot be started, and Cancelled where
// the call is cancelled (base/cancel.h), when the child is gone.
ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace pippin
