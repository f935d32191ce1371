// How much of the machine a container gives to this process.
#pragma once

#include <filesystem>
#include <optional>

namespace pippin {

// The CPUs' worth of time that the process's control groups allow, the smallest of its own group
// and those around it; nothing where there is no limit. Reads cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us and cpu.cfs_period_us); what cannot be read or makes no sense does not count.
std::optional<double> cgroup_cpu_limit(
    const std::filesystem::path& membership = "/proc/self/cgroup",
    const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace pippin
