// How much memory there is to be had.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/base/cgroup.h"

namespace pippin {

// Bytes that the process could use without anything being swapped out, as the system estimates it
// (Linux: MemAvailable), and no more than its control groups leave (cgroup v2: memory.max and
// memory.current, v1: memory.limit_in_bytes and memory.usage_in_bytes; what of the usage are pages
// of files counts as free). Where the system does not tell, a quarter of its memory.
uint64_t free_memory(const std::filesystem::path& meminfo = "/proc/meminfo",
                     const CgroupPlaces& places = {});

}  // namespace pippin
