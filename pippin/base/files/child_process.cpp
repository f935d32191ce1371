#include "pippin/base/files/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

extern char** environ;

namespace pippin {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// A child process; the destructor kills it and waits for it, unless it has ended.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    wait(status, 0);
  }
  // Returns whether the child ended.
  bool wait(int& status, int flags) {
    pid_t ended = 0;
    do {
      ended = ::waitpid(pid_, &status, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return false;
    pid_ = 0;
    return true;
  }

 private:
  pid_t pid_;
};

pid_t start(const std::vector<std::string>& command, const std::string& output, int errors,
            int reading_end) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, errors);
  ::posix_spawn_file_actions_addclose(&actions, reading_end);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, command.at(0).c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    fail(ErrorCode::NotFound, "{}: cannot be started: {}", command[0], std::strerror(error));
  }
  return pid;
}

std::string last_line_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t newline = text.rfind('\n');
  return newline == text.npos ? text : text.substr(newline + 1);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const ChildStreams& streams) {
  constexpr size_t kKept = 8192;  // kept from the end of its output
  constexpr int kPollMs = 50;
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) fail(ErrorCode::Io, "no pipe: {}", std::strerror(errno));
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  const std::string output = streams.output.empty() ? "/dev/null" : streams.output.string();
  Child child(start(command, output, writing.get(), reading.get()));
  writing.close();
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string text;
  // Returns false if nothing can be read in that time.
  const auto read_some = [&](int milliseconds) {
    pollfd waiting = {reading.get(), POLLIN, 0};
    std::array<char, 1024> piece{};
    if (::poll(&waiting, 1, milliseconds) <= 0) return false;
    const ssize_t count = ::read(reading.get(), piece.data(), piece.size());
    if (count <= 0) return false;
    text.append(piece.data(), static_cast<size_t>(count));
    if (streams.errors) streams.errors({piece.data(), static_cast<size_t>(count)});
    if (text.size() > 2 * kKept) text.erase(0, text.size() - kKept);
    return true;
  };
  int status = 0;
  bool has_more = true;  // it may close stderr and continue
  while (!child.wait(status, WNOHANG)) {
    check_cancel();
    if (std::chrono::steady_clock::now() >= end) {
      return {ChildResult::End::TimedOut, 0, last_line_of(std::move(text))};
    }
    if (has_more && read_some(kPollMs)) continue;
    if (!has_more) ::poll(nullptr, 0, kPollMs);
    pollfd closed = {reading.get(), POLLIN, 0};
    has_more = ::poll(&closed, 1, 0) == 0;
  }
  while (read_some(0)) {
  }
  if (WIFSIGNALED(status)) {
    return {ChildResult::End::Signalled, WTERMSIG(status), last_line_of(std::move(text))};
  }
  return {ChildResult::End::Exited, WEXITSTATUS(status), last_line_of(std::move(text))};
}

}  // namespace pippin
