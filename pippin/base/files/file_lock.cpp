#include "pippin/base/files/file_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"

namespace pippin {

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  for (;;) {
    // Group-writable like huggingface_hub's, because a cache may be shared.
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (fd < 0) {
      fail(ErrorCode::Io, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
    }
    FileLock lock(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK || errno == EINTR) return std::nullopt;
      return lock;  // the file system has no locks
    }
    // If another process has removed the file meanwhile, the lock is on an unlinked file.
    struct stat status {};
    if (::fstat(fd, &status) == 0 && status.st_nlink > 0) return lock;
  }
}

std::optional<FileLock> FileLock::try_existing(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  FileLock lock(fd);
  struct stat status {};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd, &status) != 0) return std::nullopt;
  if (status.st_nlink == 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace pippin
