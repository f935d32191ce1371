// For tests that show that something allocates nothing: what the whole test program has allocated.
#pragma once

#include <cstdint>

namespace pippin {

// How often operator new was called, by any thread. A program that asks replaces it
// (pippin_allocations in CMakeLists.txt).
int64_t allocations() noexcept;

}  // namespace pippin
