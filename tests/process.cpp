#include "tests/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pippin {
namespace {

using std::chrono::milliseconds;

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// Close-on-exec, so that children started at the same time do not inherit it. (pipe2() does not
// exist everywhere.)
void make_pipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Reads the available data, up to a full buffer. Closes at the end of file.
void read_some(int& fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    text.append(buffer.data(), static_cast<size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    close_fd(fd);
  }
}

}  // namespace

Process::Process(const std::vector<std::string>& command, ProcessOptions options)
    : options_(std::move(options)), deadline_(std::chrono::steady_clock::now() + options_.timeout) {
  // A child that does not read its input must not end the test.
  std::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2], err[2];
  make_pipe(in);
  make_pipe(out);
  make_pipe(err);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    ::setenv("PIPPIN_CACHE", "", 1);  // tests write nothing to the user's cache
    for (const auto& [name, value] : options_.environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    if (!options_.folder.empty() && ::chdir(options_.folder.c_str()) != 0) ::_exit(127);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  close_fd(in[0]);
  close_fd(out[1]);
  close_fd(err[1]);
  in_ = in[1];
  out_ = out[0];
  err_ = err[0];
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
  if (options_.input.empty()) close_fd(in_);
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_fd(in_);
  close_fd(out_);
  close_fd(err_);
}

bool Process::out_of_time() const {
  return std::chrono::steady_clock::now() > deadline_;
}

bool Process::pump(milliseconds limit) {
  if (out_ < 0 && err_ < 0) return false;
  // poll() skips negative descriptors.
  std::array<pollfd, 3> fds = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0},
                               pollfd{in_, POLLOUT, 0}};
  if (::poll(fds.data(), fds.size(), static_cast<int>(limit.count())) <= 0) return true;
  if (fds[0].revents != 0) read_some(out_, result_.out);
  if (fds[1].revents != 0) read_some(err_, result_.err);
  if (fds[2].revents != 0) {
    const ssize_t count =
        ::write(in_, options_.input.data() + written_, options_.input.size() - written_);
    if (count > 0) written_ += static_cast<size_t>(count);
    if (count < 0 || written_ == options_.input.size()) close_fd(in_);
  }
  return true;
}

bool Process::wait_for_output(size_t bytes) {
  while (result_.out.size() < bytes && !out_of_time() && pump(milliseconds(50))) {
  }
  return result_.out.size() >= bytes;
}

void Process::signal(int number) {
  ::kill(pid_, number);
}

ProcessResult Process::wait() {
  while (!out_of_time() && pump(milliseconds(50))) {
  }
  if (out_of_time()) {
    result_.timed_out = true;
    ::kill(pid_, SIGKILL);
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result_;
}

ProcessResult run_process(const std::vector<std::string>& command, ProcessOptions options) {
  return Process(command, std::move(options)).wait();
}

ProcessResult run_pippin(std::vector<std::string> arguments, ProcessOptions options) {
  arguments.insert(arguments.begin(), PIPPIN_PROGRAM);
  return run_process(arguments, std::move(options));
}

}  // namespace pippin
