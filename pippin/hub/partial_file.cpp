#include "pippin/hub/partial_file.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = size_t{1} << 20;

[[noreturn]] void fail_io(const fs::path& path, const char* what) {
  const int number = errno;
  fail(ErrorCode::Io, "{}: {}: {}", path.string(), what, std::strerror(number));
}

// Hashes the file from its beginning, at most `most` bytes; returns the number of bytes.
uint64_t hash_bytes(int fd, const fs::path& path, uint64_t most, Digest& digest) {
  std::vector<std::byte> buffer(kReadBytes);
  uint64_t position = 0;
  while (position < most) {
    check_cancel();
    const size_t want = static_cast<size_t>(std::min<uint64_t>(most - position, buffer.size()));
    const ssize_t count = ::pread(fd, buffer.data(), want, static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io(path, "cannot be read");
    if (count == 0) break;
    digest.update(ByteSpan(buffer.data(), static_cast<size_t>(count)));
    position += static_cast<uint64_t>(count);
  }
  return position;
}

}  // namespace

Digest digest_for(const RepoFile& file) {
  return file.sha256.empty() ? Digest::git_blob(file.size) : Digest::sha256();
}

bool has_content(const fs::path& path, const RepoFile& file) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) != file.size) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Digest digest = digest_for(file);
  try {
    hash_bytes(fd, path, file.size, digest);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
  return digest.finish() == file.etag();
}

PartialFile::PartialFile(const fs::path& path, const RepoFile& file)
    : path_(path), file_(file), fd_(-1), digest_(digest_for(file)) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    fail(ErrorCode::Io, "{}: cannot be made: {}", path.parent_path().string(), error.message());
  }
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) fail_io(path_, "cannot be written");
  try {
    read_existing();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

PartialFile::~PartialFile() {
  if (fd_ >= 0) ::close(fd_);
}

void PartialFile::read_existing() {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail_io(path_, "cannot be read");
  const auto there = static_cast<uint64_t>(status.st_size);
  if (there > file_.size) {
    restart();  // a larger file has other content
    return;
  }
  size_ = hash_bytes(fd_, path_, there, digest_);
}

void PartialFile::append(ByteSpan bytes) {
  if (bytes.size() > file_.size - size_) {
    fail(ErrorCode::LimitExceeded, "{}: more bytes than the {} that the Hub lists", file_.path,
         file_.size);
  }
  digest_.update(bytes);
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<size_t>(count));
    size_ += static_cast<uint64_t>(count);
  }
}

void PartialFile::restart() {
  if (::ftruncate(fd_, 0) != 0) fail_io(path_, "cannot be emptied");
  size_ = 0;
  digest_ = digest_for(file_);
}

void PartialFile::commit(const fs::path& final_path) {
  // A blob under its final name is trusted from then on, so its bytes must survive a system crash.
  if (::fsync(fd_) != 0) fail_io(path_, "cannot be written");
  std::error_code error;
  fs::create_directories(final_path.parent_path(), error);
  fs::rename(path_, final_path, error);
  if (error) {
    fail(ErrorCode::Io, "{}: cannot be put in place: {}", final_path.string(), error.message());
  }
}

}  // namespace pippin::hub
