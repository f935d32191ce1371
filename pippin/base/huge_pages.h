// Memory that is read all over is read quicker in large pages: fewer page faults, and fewer waits
// for the addresses of pages.
#pragma once

#include <cstddef>

namespace pippin {

inline constexpr size_t kHugePage = size_t{1} << 21;  // bytes

// Asks for huge pages, as a wish: a system without them does nothing. `data` begins a page.
void want_huge_pages(void* data, size_t bytes) noexcept;

}  // namespace pippin
