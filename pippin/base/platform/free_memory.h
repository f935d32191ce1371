// Available memory.
#pragma once

#include <cstdint>

namespace pippin {

// Returns the bytes that the process can use without swapping, as the system estimates it (Linux:
// MemAvailable, limited by its control groups; macOS: free and inactive pages). If the system does
// not say, a quarter of its memory.
uint64_t free_memory();

// Returns the bytes that the process could use if there were no others: the machine's memory, or
// the limit of its control groups. Unlike free memory, this does not change.
uint64_t total_memory();

}  // namespace pippin
