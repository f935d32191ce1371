#include <sys/mman.h>
#include <unistd.h>

#include "pippin/base/platform/pages.h"

namespace pippin {

size_t page_size() noexcept {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// Apple silicon has none, and Intel Macs only for memory reserved in another way.
void want_huge_pages(void* /*data*/, size_t /*bytes*/) noexcept {}

size_t present_bytes(const void* /*data*/, size_t bytes) noexcept {
  return bytes;
}

void drop_file_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_DONTNEED);
}

bool zero_pages(void* data, size_t bytes) noexcept {
  // MADV_DONTNEED would keep the content. MADV_ZERO does not touch pages that were never touched
  // (macOS 13); after MADV_FREE, pages of zeros stay zeros whether they are reclaimed or not.
  if (::madvise(data, bytes, MADV_ZERO) != 0) return false;
  ::madvise(data, bytes, MADV_FREE);
  return true;
}

}  // namespace pippin
