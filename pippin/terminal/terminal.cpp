#include "pippin/terminal/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/lower_case.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/terminal/write_fully.h"

namespace pippin::terminal {
namespace {

constexpr std::string_view kBeginPaste = "\x1B[?2004h", kEndPaste = "\x1B[?2004l";

constexpr int kPatience = 200;  // milliseconds between checks of signal flags

volatile std::sig_atomic_t resized = 0;

void note_resize(int /*signal*/) {
  resized = 1;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// No locale at all, as in most containers, says nothing about the terminal; "C" means ASCII.
bool is_utf8_locale() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  if (locale.empty()) return true;
  locale = to_lower(locale);
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

}  // namespace

// The terminal's original mode, and its mode while keys are read.
class Terminal::Modes {
 public:
  bool read() { return ::tcgetattr(STDIN_FILENO, &before_) == 0; }
  void set_raw() const {
    termios raw = before_;
    raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  void set_back() const { ::tcsetattr(STDIN_FILENO, TCSANOW, &before_); }

  int depth = 0;                    // nesting of RawMode
  struct sigaction on_resize = {};  // before

 private:
  termios before_{};
};

Terminal::Terminal() : modes_(std::make_unique<Modes>()) {
  const std::string term = environment("TERM");
  has_input_terminal_ = ::isatty(STDIN_FILENO) == 1;
  const bool has_output = ::isatty(STDOUT_FILENO) == 1;
  is_interactive_ = has_input_terminal_ && has_output && term != "dumb" && !term.empty();
  has_styles_ = is_interactive_ && environment("NO_COLOR").empty();
  is_utf8_ = is_utf8_locale();
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    fail(ErrorCode::LimitExceeded, "a pipe: {}", std::strerror(errno));
  }
  for (const int end : ends) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
  wake_read_ = ends[0];
  wake_write_ = ends[1];
}

Terminal::~Terminal() {
  ::close(wake_read_);
  ::close(wake_write_);
}

void Terminal::write(std::string_view text) {
  if (!write_fully(STDOUT_FILENO, text)) {
    fail(ErrorCode::Io, "writing to standard output: {}", std::strerror(errno));
  }
}

Size Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, std::max<int>(size.ws_row, 1)};
}

void Terminal::enter() {
  if (!is_interactive_ || modes_->depth++ > 0 || !modes_->read()) return;
  struct sigaction action = {};
  action.sa_handler = note_resize;  // without SA_RESTART, so that it interrupts a wait
  ::sigaction(SIGWINCH, &action, &modes_->on_resize);
  modes_->set_raw();
  write(kBeginPaste);
}

void Terminal::leave() noexcept {
  if (!is_interactive_ || --modes_->depth > 0) return;
  try {
    write(kEndPaste);
  } catch (const Error&) {  // in a destructor, there is no way to report it
  }
  modes_->set_back();
  ::sigaction(SIGWINCH, &modes_->on_resize, nullptr);
}

Terminal::RawMode::RawMode(Terminal& terminal) : terminal_(terminal) {
  terminal_.enter();
}

Terminal::RawMode::~RawMode() {
  terminal_.leave();
}

void Terminal::suspend() {
  const int depth = std::exchange(modes_->depth, 1);
  leave();
  ::raise(SIGTSTP);
  enter();
  modes_->depth = depth;
}

int Terminal::run(const std::string& command) {
  const int depth = std::exchange(modes_->depth, 1);
  leave();
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): the user's own command
  enter();
  modes_->depth = depth;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

Terminal::Event Terminal::wait(std::string& input, int milliseconds) {
  return wait_until(&input, milliseconds);
}

Terminal::Event Terminal::wait_for_wake() {
  return wait_until(nullptr, -1);
}

// A null input is not read.
Terminal::Event Terminal::wait_until(std::string* input, int milliseconds) {
  const int in = input == nullptr ? -1 : STDIN_FILENO;
  std::array<pollfd, 2> files = {{{in, POLLIN, 0}, {wake_read_, POLLIN, 0}}};
  // A signal may be handled by another thread, or just before the wait, which it does not interrupt
  // then.
  int count = 0;
  for (int left = milliseconds; count == 0;) {
    const int most = left < 0 ? kPatience : std::min(left, kPatience);
    count = ::poll(files.data(), files.size(), most);
    check_cancel();
    if (std::exchange(resized, 0) != 0) return Event::Resize;
    if (left >= 0 && (left -= most) <= 0) break;
  }
  if (count == 0) return Event::Timeout;
  if (count < 0) {
    if (errno == EINTR) return Event::Timeout;
    fail(ErrorCode::Io, "waiting for input: {}", std::strerror(errno));
  }
  std::array<char, 4096> bytes{};
  if (files[1].revents != 0) {
    while (::read(wake_read_, bytes.data(), bytes.size()) > 0) continue;
    return Event::Wake;
  }
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Event::Timeout;
  if (got <= 0) return Event::End;
  input->append(bytes.data(), static_cast<size_t>(got));
  return Event::Input;
}

void Terminal::wake() noexcept {
  const char byte = 1;
  // A full pipe wakes the reader, too.
  [[maybe_unused]] const ssize_t written = ::write(wake_write_, &byte, 1);
}

}  // namespace pippin::terminal
