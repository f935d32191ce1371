// Runs another program to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

struct ChildResult {
  enum class End : uint8_t { Exited, Signalled, TimedOut };
  End end = End::Exited;
  int status = 0;         // exit status, or the signal
  std::string last_line;  // last non-empty line that it wrote to stderr
};

struct ChildStreams {
  std::filesystem::path output = {};  // the file that its stdout is written to; empty: dropped
  // Receives its stderr, piece by piece; may be null.
  std::function<void(std::string_view piece)> errors = {};
};

// `command` has the program's path and its arguments. Its stdin is empty. If it takes longer than
// `limit`, it is killed. Throws NotFound if it cannot be started, and Cancelled if the
// call is cancelled (base/threads/cancel.h), after the child has ended.
ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const ChildStreams& streams = {});

}  // namespace pippin
