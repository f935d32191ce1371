// Counts the allocations of the whole test program with operator new, for tests that code allocates
// nothing, or no more than its input warrants. Programs that use it replace operator new
// (pippin_allocations in CMakeLists.txt).
#pragma once

#include <cstdint>

namespace pippin {

// Returns the number of operator new calls so far, by all threads.
int64_t allocations() noexcept;

// Return the maximum of allocated bytes since reset_peak_bytes(), and the current number.
int64_t peak_bytes() noexcept;
int64_t live_bytes() noexcept;
void reset_peak_bytes() noexcept;

}  // namespace pippin
