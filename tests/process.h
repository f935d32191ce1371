// For tests only: runs the built program as a user does and returns its output.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pippin {

struct ProcessOptions {
  std::string input;                               // standard input; empty: immediate end of file
  std::map<std::string, std::string> environment;  // in addition to the test's own
  std::string folder;                              // working directory; empty: the test's own
  std::chrono::seconds timeout = std::chrono::seconds(120);
};

struct ProcessResult {
  int status = -1;  // exit status, or 128 + the signal that ended it
  std::string out, err;
  bool timed_out = false;
};

// A child process with pipes. Destruction ends it.
class Process {
 public:
  Process(const std::vector<std::string>& command, ProcessOptions options = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  // Reads until standard output has at least `bytes` bytes; returns false if it ends or times out
  // before.
  bool wait_for_output(size_t bytes);
  void signal(int number);
  ProcessResult wait();

 private:
  bool pump(std::chrono::milliseconds limit);  // false: both outputs ended
  bool out_of_time() const;

  ProcessOptions options_;
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  size_t written_ = 0;
  ProcessResult result_;
};

ProcessResult run_process(const std::vector<std::string>& command, ProcessOptions options = {});

// Runs the program of this build with arguments.
ProcessResult run_pippin(std::vector<std::string> arguments, ProcessOptions options = {});

}  // namespace pippin
