// How much memory there is to be had.
#pragma once

#include <cstdint>

namespace pippin {

// Bytes that the process could use without anything being swapped out, as the system estimates it
// (Linux: MemAvailable and what its control groups leave; macOS: free and inactive pages). Where
// the system does not tell, a quarter of its memory.
uint64_t free_memory();

// Bytes that the process could use if no other did: those of the machine, or the limit of its
// control groups. Unlike free memory they stay the same.
uint64_t total_memory();

}  // namespace pippin
