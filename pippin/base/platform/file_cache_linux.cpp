#include <fcntl.h>
#include <unistd.h>

#include "pippin/base/platform/file_cache.h"

namespace pippin {

void want_soon(int fd) noexcept {
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
}

bool forget_cached(const std::filesystem::path& path) noexcept {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  // Only clean pages can be dropped.
  const bool done = ::fsync(fd) == 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(fd);
  return done;
}

}  // namespace pippin
