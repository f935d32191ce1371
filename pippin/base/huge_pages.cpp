#include "pippin/base/huge_pages.h"

#include <sys/mman.h>

namespace pippin {

void want_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  ::madvise(data, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace pippin
