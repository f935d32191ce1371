#include <algorithm>
#include <limits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/platform/file_cache.h"

namespace pippin {

void want_soon(int fd) noexcept {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  constexpr off_t kMost = std::numeric_limits<int>::max();  // limit of one call
  for (off_t at = 0; at < info.st_size; at += kMost) {
    radvisory advice{at, static_cast<int>(std::min(info.st_size - at, kMost))};
    if (::fcntl(fd, F_RDADVISE, &advice) != 0) return;
  }
}

bool forget_cached(const std::filesystem::path& path) noexcept {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info {};
  bool done = ::fsync(fd) == 0 && ::fstat(fd, &info) == 0;
  if (done && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    done = data != MAP_FAILED && ::msync(data, size, MS_INVALIDATE) == 0;
    if (data != MAP_FAILED) ::munmap(data, size);
  }
  ::close(fd);
  return done;
}

}  // namespace pippin
