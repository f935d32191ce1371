#include "pippin/base/platform/cpu_limit_linux.h"

#include <algorithm>
#include <fstream>

#include "pippin/base/platform/cgroup_linux.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Parses "max 100000" or "150000 100000": quota and period in microseconds.
std::optional<double> limit_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> limit_v1(const fs::path& folder) {
  const auto quota = number_in(folder / "cpu.cfs_quota_us");  // -1: none
  const auto period = number_in(folder / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

std::optional<double> cgroup_cpu_limit(const fs::path& membership, const fs::path& mount) {
  std::optional<double> limit;
  const auto take = [&](std::optional<double> other) {
    if (other) limit = limit ? std::min(*limit, *other) : *other;
  };
  CgroupFolders folders = cgroup_folders("cpu", {membership, mount});
  folders.v1.push_back(mount / "cpu,cpuacct");
  for (const fs::path& folder : folders.v2) take(limit_v2(folder));
  for (const fs::path& folder : folders.v1) take(limit_v1(folder));
  return limit;
}

}  // namespace pippin
