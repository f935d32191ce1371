#include <sys/stat.h>

#include "pippin/base/platform/file_times.h"

namespace pippin {
namespace {

int64_t whole_nanoseconds(const timespec& time) noexcept {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int64_t modified_ns(const struct stat& info) noexcept {
  return whole_nanoseconds(info.st_mtim);
}

int64_t changed_ns(const struct stat& info) noexcept {
  return whole_nanoseconds(info.st_ctim);
}

}  // namespace pippin
