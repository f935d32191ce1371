#include "pippin/cli/batch/crash_mark.h"

#include <csignal>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace pippin::cli {
namespace {

const char* mark_path = nullptr;

void make_mark(int number) {
  const int fd = ::open(mark_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0) ::close(fd);
  ::raise(number);  // with the default action
}

}  // namespace

void mark_crashes(const std::filesystem::path& path) {
  static std::string text;  // as long as the process lives
  text = path.string();
  mark_path = text.c_str();
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) {
    struct sigaction action = {};
    action.sa_handler = make_mark;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace pippin::cli
