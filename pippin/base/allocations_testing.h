// For tests that show that something allocates nothing, or no more than its input is worth: what
// the whole test program has allocated with operator new. A program that asks replaces it
// (pippin_allocations in CMakeLists.txt).
#pragma once

#include <cstdint>

namespace pippin {

// The calls of operator new so far, by any thread.
int64_t allocations() noexcept;

// The most bytes that were allocated at a time since reset_peak_bytes(), and those that are now.
int64_t peak_bytes() noexcept;
int64_t live_bytes() noexcept;
void reset_peak_bytes() noexcept;

}  // namespace pippin
