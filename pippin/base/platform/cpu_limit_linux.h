// A container's CPU limit.
#pragma once

#include <filesystem>
#include <optional>

namespace pippin {

// Returns the CPU time that the process's control groups allow, in CPUs: the smallest limit of its
// own group and its ancestors, or nothing if unlimited. Reads cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us and cpu.cfs_period_us); ignores unreadable and invalid values.
std::optional<double> cgroup_cpu_limit(
    const std::filesystem::path& membership = "/proc/self/cgroup",
    const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace pippin
