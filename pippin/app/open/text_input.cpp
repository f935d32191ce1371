#include "pippin/app/open/text_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::app {
namespace {

constexpr size_t kChunkBytes = size_t{64} << 10;

// Reads bytes as they arrive. Files are also read rather than mapped: one path for all.
class Input {
 public:
  explicit Input(const std::string& file)
      : name_(file == "-" ? "standard input" : file),
        owned_(file != "-"),
        fd_(owned_ ? -1 : STDIN_FILENO) {
    while (fd_ < 0) {
      fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd_ >= 0) return;
      const int error = errno;
      check_cancel();  // a pipe may wait for its writer
      if (error == EINTR) continue;
      fail(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", name_,
           std::strerror(error));
    }
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    if (owned_) ::close(fd_);
  }

  // Appends the available bytes, at least one; false at the end.
  bool append_to(std::string& text) const {
    const size_t size = text.size();
    text.resize(size + kChunkBytes);
    ssize_t count = -1;
    int error = EINTR;
    while (count < 0 && error == EINTR) {
      wait();
      count = ::read(fd_, text.data() + size, kChunkBytes);
      error = errno;
      check_cancel();
    }
    if (count < 0) fail(ErrorCode::Io, "{}: {}", name_, std::strerror(error));
    text.resize(size + static_cast<size_t>(count));
    return count > 0;
  }

  // A writer that records must not wait while the bytes before are in use. Best effort.
  void enlarge_pipe() const {
#ifdef F_SETPIPE_SZ
    constexpr int kBytes = 1 << 20;
    ::fcntl(fd_, F_SETPIPE_SZ, kBytes);
#endif
  }

  [[noreturn]] void fail_too_long(const std::string& what, size_t most_bytes) const {
    fail(ErrorCode::LimitExceeded, "{}: {} than {} bytes", name_, what, most_bytes);
  }

 private:
  // Waits until there are bytes or the end. A cancellation just before a wait does not interrupt
  // it, so waits are short.
  void wait() const {
    constexpr int kMilliseconds = 200;
    pollfd input{fd_, POLLIN, 0};
    int ready = 0;
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
      check_cancel();
      ready = ::poll(&input, 1, kMilliseconds);
    }
  }

  std::string name_;
  bool owned_;
  int fd_;
};

}  // namespace

std::string read_text(const std::string& file, size_t most_bytes) {
  const Input input(file);
  std::string text;
  while (input.append_to(text)) {
    if (text.size() > most_bytes) input.fail_too_long("more", most_bytes);
  }
  return text;
}

void for_each_line(const std::string& file,
                   const std::function<void(std::string_view line, int64_t number)>& use,
                   size_t most_bytes) {
  const Input input(file);
  std::string text;  // an incomplete line
  int64_t number = 0;
  size_t searched = 0;
  while (input.append_to(text)) {
    size_t begin = 0;
    for (size_t end = text.find('\n', searched); end != std::string::npos;
         end = text.find('\n', begin)) {
      use(std::string_view(text).substr(begin, end - begin), ++number);
      check_cancel();
      begin = end + 1;
    }
    text.erase(0, begin);
    searched = text.size();
    if (text.size() > most_bytes) {
      input.fail_too_long("line " + std::to_string(number + 1) + " has more", most_bytes);
    }
  }
  if (!text.empty()) use(text, number + 1);
}

void for_each_block(const std::string& file,
                    const std::function<void(std::string_view bytes)>& use) {
  const Input input(file);
  input.enlarge_pipe();
  std::string bytes;
  while (input.append_to(bytes)) {
    use(bytes);
    check_cancel();
    bytes.clear();
  }
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

std::optional<std::string> read_piped_text(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  if (stdin_is_terminal() || ::fcntl(STDIN_FILENO, F_GETFD) < 0) return "";
  const auto end = Clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&input, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    check_cancel();
    if (ready == 0) return std::nullopt;
    // read() reports errors of a device that poll() does not.
    if (ready > 0 || errno != EINTR) return read_text("-");
  }
}

}  // namespace pippin::app
