// How much memory there is to be had.
#pragma once

#include <cstdint>

namespace pippin {

// Bytes that the process could use without anything being swapped out, as the system estimates it
// (Linux: MemAvailable and what its control groups leave; macOS: free and inactive pages). Where
// the system does not tell, a quarter of its memory.
uint64_t free_memory();

}  // namespace pippin
