#include "pippin/shell/command_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not on every system

namespace pippin::shell {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail_to(const char* what, int error) {
  fail(ErrorCode::Io, "cannot {}: {}", what, std::strerror(error));
}

// Returns this process's environment, with the variables in `more` added or replaced.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (more.count(std::string(text.substr(0, text.find('=')))) == 0) result.emplace_back(text);
  }
  for (const auto& [name, value] : more) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

}  // namespace

CommandRun::CommandRun(const std::string& command, std::string_view input,
                       const std::map<std::string, std::string>& variables) {
  // Commands that start at the same time in other threads must not inherit these files.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // A file, because input that the command does not read would block a pipe.
  const File file(std::tmpfile(), std::fclose);
  if (file == nullptr || std::fwrite(input.data(), 1, input.size(), file.get()) != input.size() ||
      std::fflush(file.get()) != 0) {
    fail_to("keep the command's input", errno);
  }
  std::rewind(file.get());
  ::fcntl(::fileno(file.get()), F_SETFD, FD_CLOEXEC);
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) fail_to("make a pipe", errno);
  read_ = pipe[0];
  ::fcntl(read_, F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(file.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe[1]);
  // A separate process group, so that all of its processes can be killed.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string shell = "/bin/sh", option = "-c", text = command;
  std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  std::vector<std::string> environment = environment_with(variables);
  std::vector<char*> entries;
  entries.reserve(environment.size() + 1);
  for (std::string& entry : environment) entries.push_back(entry.data());
  entries.push_back(nullptr);
  const int error = ::posix_spawn(&process_, shell.c_str(), &actions, &attributes, arguments.data(),
                                  entries.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(pipe[1]);
  if (error == 0) return;
  ::close(read_);
  fail_to("run /bin/sh", error);
}

CommandRun::~CommandRun() {
  if (process_ > 0) ::kill(-process_, SIGKILL);
  end();
  ::close(read_);
}

void CommandRun::end() noexcept {
  if (process_ <= 0) return;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  process_ = -1;
}

bool CommandRun::wait(int milliseconds) {
  if (process_ <= 0) return true;
  pollfd file{read_, POLLIN, 0};
  if (::poll(&file, 1, milliseconds) <= 0) return false;
  std::array<char, 4096> bytes{};
  const ssize_t size = ::read(read_, bytes.data(), bytes.size());
  if (size < 0) return false;
  if (size == 0) {  // all processes that it started have closed their outputs
    end();
    return true;
  }
  const size_t kept = std::min(static_cast<size_t>(size), kMostOutput - output_.size());
  output_.append(bytes.data(), kept);
  dropped_ += static_cast<size_t>(size) - kept;
  return false;
}

std::string CommandRun::output() const {
  std::string text;
  for (size_t at = 0; at < output_.size();) append_utf8(text, decode_utf8(output_, at));
  if (dropped_ > 0) text += fmt::format("\n[{} more bytes]", dropped_);
  if (status_ != 0) text += fmt::format("\n[the command ended with status {}]", status_);
  return text;
}

}  // namespace pippin::shell
