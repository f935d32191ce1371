#include <sys/mman.h>
#include <unistd.h>

#include "pippin/base/pages.h"

namespace pippin {

size_t page_size() noexcept {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// Apple silicon has none, and Intel's Macs only by another way to reserve memory.
void want_huge_pages(void* /*data*/, size_t /*bytes*/) noexcept {}

void drop_file_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_DONTNEED);
}

bool zero_pages(void* data, size_t bytes) noexcept {
  // MADV_DONTNEED would keep their content. MADV_ZERO touches no page that was not touched before
  // (macOS 13); of zeros MADV_FREE leaves zeros, whether it takes the page or not.
  if (::madvise(data, bytes, MADV_ZERO) != 0) return false;
  ::madvise(data, bytes, MADV_FREE);
  return true;
}

}  // namespace pippin
