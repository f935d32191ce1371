#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "pippin/base/platform/pages.h"

namespace pippin {
namespace {

// Calls body(begin, bytes, whether they are in memory) for runs of pages until it returns false.
// Returns false then, or if the system does not say.
template <typename Body>
bool for_presence(void* data, size_t bytes, const Body& body) noexcept {
  constexpr size_t kPages = 4096;  // that are looked at together
  unsigned char states[kPages];
  const size_t page = page_size();
  auto* begin = static_cast<std::byte*>(data);
  for (size_t left = (bytes + page - 1) / page; left > 0;) {
    const size_t pages = std::min(left, kPages);
    if (::mincore(begin, pages * page, states) != 0) return false;
    for (size_t i = 0; i < pages;) {
      const auto is_present = [&](size_t at) { return (states[at] & 1) != 0; };
      size_t end = i + 1;
      while (end < pages && is_present(end) == is_present(i)) ++end;
      if (!body(begin + i * page, (end - i) * page, is_present(i))) return false;
      i = end;
    }
    begin += pages * page;
    left -= pages;
  }
  return true;
}

}  // namespace

size_t page_size() noexcept {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void want_huge_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_HUGEPAGE);
}

void drop_file_pages(void* data, size_t bytes) noexcept {
  ::madvise(data, bytes, MADV_DONTNEED);
}

// Pages in memory are kept: zeroing them takes less time than the page faults after returning them.
bool zero_pages(void* data, size_t bytes) noexcept {
  return for_presence(data, bytes, [](std::byte* begin, size_t count, bool is_present) {
    if (is_present) std::memset(begin, 0, count);
    return is_present || ::madvise(begin, count, MADV_DONTNEED) == 0;  // they may be swapped out
  });
}

size_t present_bytes(const void* data, size_t bytes) noexcept {
  size_t present = 0;
  const bool known = for_presence(const_cast<void*>(data), bytes,
                                  [&](std::byte* /*begin*/, size_t count, bool is_present) {
                                    if (is_present) present += count;
                                    return true;
                                  });
  return known ? present : bytes;
}

}  // namespace pippin
