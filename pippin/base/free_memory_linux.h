// What Linux tells of free memory, from files that tests may put elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/base/cgroup_linux.h"

namespace pippin {

// MemAvailable, and no more than the process's control groups leave (cgroup v2: memory.max and
// memory.current, v1: memory.limit_in_bytes and memory.usage_in_bytes; what of the usage are pages
// of files counts as free).
uint64_t free_memory(const std::filesystem::path& meminfo, const CgroupPlaces& places);
// MemTotal, and no more than the limits of these groups.
uint64_t total_memory(const std::filesystem::path& meminfo, const CgroupPlaces& places);

}  // namespace pippin
