#include "pippin/tokenizers/large_allocator.h"

#include <sys/mman.h>

namespace pippin::tokenizers {

void want_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace pippin::tokenizers
