// An inter-process lock on a file, compatible with Python's filelock on Unix (flock, the file
// stays), so that huggingface_hub and Pippin respect each other's locks.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace pippin {

class FileLock {
 public:
  // Creates the file and its folder. Returns nothing if another process, or another FileLock, has
  // the lock. On a file system without locks, the lock has no effect. Throws Io.
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);
  // The same for an existing file. Also returns nothing if the file is missing or cannot be opened,
  // or if the file system has no locks.
  static std::optional<FileLock> try_existing(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace pippin
