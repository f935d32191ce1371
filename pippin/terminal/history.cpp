#include "pippin/terminal/history.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/terminal/write_fully.h"

namespace pippin::terminal {
namespace {

constexpr size_t kMostEntries = 1000;
constexpr off_t kMostRead = off_t{4} << 20;     // from the end of a file
constexpr off_t kMostWritten = off_t{8} << 20;  // a larger file is cut to the part that is read
constexpr size_t kLongest = size_t{256} << 10;

// Encodes a text as one line: escapes newlines and backslashes.
std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i];
    } else {
      text += line[i];
    }
  }
  return text;
}

class File {
 public:
  File(const std::filesystem::path& path, int flags) : fd_(::open(path.c_str(), flags, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::filesystem::path History::default_file() {
  if (const char* file = std::getenv("PIPPIN_HISTORY"); file != nullptr) return file;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::filesystem::path(state) / "pippin" / "chat-history";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".local" / "state" / "pippin" / "chat-history";
}

History::History(std::filesystem::path file) : file_(std::move(file)) {
  if (!file_.empty()) read();
}

void History::read() {
  const File file(file_, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR) {
      notice_ = fmt::format("{}: {}", file_.string(), std::strerror(errno));
    }
    return;
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    notice_ = fmt::format("{}: no file; the history is not kept", file_.string());
    file_.clear();
    return;
  }
  const off_t begin = std::max<off_t>(info.st_size - kMostRead, 0);
  std::string bytes(static_cast<size_t>(info.st_size - begin), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), begin);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  size_t at = 0;
  if (begin > 0) at = std::min(bytes.find('\n'), bytes.size() - 1) + 1;  // the first is partial
  while (at < bytes.size()) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = std::string_view(bytes).substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.size() > kLongest || !is_valid_utf8(line)) continue;
    entries_.push_back(unescaped(line));
  }
  if (entries_.size() > kMostEntries) {
    entries_.erase(entries_.begin(), entries_.end() - static_cast<ptrdiff_t>(kMostEntries));
  }
  if (info.st_size <= kMostWritten) return;
  // A file that is too long keeps only the entries that were read.
  std::string rest;
  for (const std::string& entry : entries_) rest += escaped(entry) + '\n';
  const std::filesystem::path shorter = file_.string() + ".new";
  const File target(shorter, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  if (!target || !write_fully(target.get(), rest) ||
      ::rename(shorter.c_str(), file_.c_str()) != 0) {
    ::unlink(shorter.c_str());
  }
}

void History::add(const std::string& text) {
  if (!is_on_ || text.empty() || text.size() > kLongest || !is_valid_utf8(text)) return;
  if (!entries_.empty() && entries_.back() == text) return;
  entries_.push_back(text);
  if (!file_.empty()) append(text);
}

void History::append(const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  const File file(file_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  // Other users must not read the messages.
  if (file && ::fchmod(file.get(), 0600) == 0 && write_fully(file.get(), escaped(text) + '\n')) {
    return;
  }
  notice_ = fmt::format("{}: {}; the history is not kept", file_.string(), std::strerror(errno));
  file_.clear();
}

}  // namespace pippin::terminal
