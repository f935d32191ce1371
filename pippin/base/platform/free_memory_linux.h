// Memory information of Linux, read from files whose location tests can change.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/base/platform/cgroup_linux.h"

namespace pippin {

// Returns MemAvailable, limited to what the process's control groups have left (cgroup v2:
// memory.max and memory.current, v1: memory.limit_in_bytes and memory.usage_in_bytes; file pages in
// the usage count as free).
uint64_t free_memory(const std::filesystem::path& meminfo, const CgroupPlaces& places);
// Returns MemTotal, limited to the limits of these groups.
uint64_t total_memory(const std::filesystem::path& meminfo, const CgroupPlaces& places);

}  // namespace pippin
