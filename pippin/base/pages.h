// Memory as the system deals it out: in pages. What is read all over is read quicker in large ones:
// fewer page faults, and fewer waits for the addresses of pages.
#pragma once

#include <cstddef>

namespace pippin {

inline constexpr size_t kHugePage = size_t{1} << 21;  // bytes

// Bytes of a page: 4096 on most machines, 16384 on Apple silicon.
size_t page_size() noexcept;

// Asks for huge pages, as a wish: a system without them does nothing. `data` begins a page.
void want_huge_pages(void* data, size_t bytes) noexcept;

// Gives whole pages of a mapped file back: whoever touches them reads them again. As a wish, too.
void drop_file_pages(void* data, size_t bytes) noexcept;

// Makes whole pages of memory that mmap() gave zero again, and gives them back to the system until
// they are touched. False where the system cannot do that: they are as they were.
bool zero_pages(void* data, size_t bytes) noexcept;

}  // namespace pippin
