// A lock between processes, on a file, in the way of Python's filelock on Unix (flock, the file
// stays): huggingface_hub and Pippin keep out of each other's way.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace pippin {

class FileLock {
 public:
  // Makes the file and its folder. Nothing where another process, or another FileLock, has it. On a
  // file system without locks the lock has no effect. Throws Io.
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);
  // The same for a file that is there. Nothing, too, where it is not, or not to be opened, or where
  // there are no locks.
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
