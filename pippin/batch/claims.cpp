#include "pippin/batch/claims.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/machine.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/platform/file_times.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

[[noreturn]] void fail_at(const fs::path& path) {
  fail(ErrorCode::Io, "{}: {}", path.string(), std::strerror(errno));
}

// Returns the time that the folder's file system gives to a file now.
int64_t time_there(const fs::path& folder) {
  const fs::path clock = folder / "clock";
  const int fd = ::open(clock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  struct stat status {};
  const bool is_known = fd >= 0 && ::futimens(fd, nullptr) == 0 && ::fstat(fd, &status) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  errno = error;
  if (!is_known) fail_at(clock);
  return modified_ns(status);
}

}  // namespace

Claims::Claims(fs::path folder, ClaimTimes times) : folder_(std::move(folder)), times_(times) {}

Claims::~Claims() {
  std::error_code ignored;
  for (const auto& [number, held] : held_) fs::remove(held.path, ignored);
}

std::string Claims::new_owner() {
  static std::atomic<int> count{0};
  std::string name = host_name();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{}-{}-{:x}-{}", name, ::getpid(), now, count++);
}

fs::path Claims::path_of(size_t number, int claim) const {
  return folder_ / fmt::format("{:08}.{}", number, claim);
}

std::map<size_t, int> Claims::last_claims() const {
  std::map<size_t, int> found;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const size_t dot = name.find('.');
    size_t number = 0;
    int claim = 0;
    if (dot == std::string::npos || !parse_number(name.substr(0, dot), number) ||
        !parse_number(name.substr(dot + 1), claim)) {
      continue;
    }
    found[number] = std::max(found[number], claim);
  }
  return found;
}

std::optional<size_t> Claims::take_one(const std::vector<size_t>& numbers) {
  const std::map<size_t, int> claimed = last_claims();
  for (const size_t number : numbers) {
    if (!claimed.contains(number) && create(number, 1)) return number;
  }
  for (const size_t number : numbers) {
    const auto last = claimed.find(number);
    if (last == claimed.end()) continue;
    const auto state = state_of(number, last->second);
    if (state && state->is_stale && create(number, last->second + 1)) return number;
  }
  return std::nullopt;
}

bool Claims::create(size_t number, int claim) {
  const fs::path path = path_of(number, claim);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    if (errno == EEXIST) return false;
    fail_at(path);
  }
  ::close(fd);
  Held& held = held_[number];
  held.path = path;
  // The lock tells others on this machine at once when this process has died. A process that looks
  // at the claim has the lock for a moment.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && !held.lock; ++i) held.lock = FileLock::try_lock(path);
  FileWriter writer(path);
  writer.write(machine_lines() + fmt::format("{}\n", ::getpid()));
  writer.close();
  return true;
}

std::optional<ClaimState> Claims::state_of(size_t number, int claim) const {
  const fs::path path = path_of(number, claim);
  const int64_t now = time_there(folder_);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::chrono::nanoseconds age(now - modified_ns(status));
  ClaimState state{number, {}, 0, std::chrono::duration<double>(age).count(), age > times_.stale};
  std::string text;
  try {
    text = read_file(path, size_t{1} << 16, StandIns::Allow);
  } catch (const Error&) {
    return std::nullopt;  // it was just released
  }
  std::istringstream lines(text);
  std::string boot;
  std::getline(lines, state.host);
  std::getline(lines, boot);
  lines >> state.pid;
  // Between the creation of the file and the lock, a claim looks like that of a dead process.
  const auto young = std::min<std::chrono::milliseconds>(1s, times_.stale);
  if (!state.is_stale && age > young && is_of_this_machine(text)) {
    state.is_stale = FileLock::try_existing(path).has_value();
  }
  return state;
}

std::vector<ClaimState> Claims::list() const {
  std::vector<ClaimState> found;
  for (const auto& [number, claim] : last_claims()) {
    if (auto state = state_of(number, claim)) found.push_back(std::move(*state));
  }
  return found;
}

void Claims::beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_beat_ < times_.beat) return;
  last_beat_ = now;
  for (const auto& [number, held] : held_) {
    ::utimensat(AT_FDCWD, held.path.c_str(), nullptr, 0);  // fails if others have finished the work
  }
}

void Claims::release(size_t number) {
  const auto held = held_.find(number);
  if (held == held_.end()) return;
  std::error_code ignored;
  fs::remove(held->second.path, ignored);
  held_.erase(held);
}

void Claims::finish(size_t number) {
  const std::map<size_t, int> claimed = last_claims();
  const auto last = claimed.find(number);
  std::error_code ignored;
  for (int i = 1; last != claimed.end() && i <= last->second; ++i) {
    fs::remove(path_of(number, i), ignored);
  }
  held_.erase(number);
}

}  // namespace pippin::batch
