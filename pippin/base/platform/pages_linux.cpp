#include <sys/mman.h>
#include <unistd.h>

#include "pippin/base/platform/pages.h"

namespace pippin {

size_t page_size() noexcept {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void want_huge_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_HUGEPAGE);
}

void drop_file_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_DONTNEED);
}

bool zero_pages(void* data, size_t bytes) noexcept {
  return ::madvise(data, bytes, MADV_DONTNEED) == 0;  // the next access gets zeroed pages
}

}  // namespace pippin
