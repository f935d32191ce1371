// Memory pages. Memory with random access is faster in large pages: fewer page faults, and fewer
// waits for address translation.
#pragma once

#include <cstddef>

namespace pippin {

inline constexpr size_t kHugePage = size_t{1} << 21;  // bytes

// Returns the page size in bytes: 4096 on most machines, 16384 on Apple silicon.
size_t page_size() noexcept;

// Requests huge pages, best effort: does nothing on systems without them. `data` must begin a page.
void want_huge_pages(void* data, size_t bytes) noexcept;

// Returns the bytes of memory that pages from mmap() take; where the system does not say, all.
size_t present_bytes(const void* data, size_t bytes) noexcept;

// Releases whole pages of a mapped file; they are read again on the next access. Best effort.
void drop_file_pages(void* data, size_t bytes) noexcept;

// Zeroes whole pages from mmap(), without touching those that no one has touched. Returns false if
// the system does not support this; some pages may be zeros then, others as they were.
bool zero_pages(void* data, size_t bytes) noexcept;

}  // namespace pippin
