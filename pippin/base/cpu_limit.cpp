#include "pippin/base/cpu_limit.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// "max 100000" or "150000 100000": quota and period in microseconds.
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

// The group's folder and those around it, up to the mount. A container with a namespace of its own
// has its group at the mount, whatever the membership says.
std::vector<fs::path> folders_up(const fs::path& mount, std::string group) {
  std::vector<fs::path> folders = {mount};
  while (!group.empty() && group.front() == '/') group.erase(0, 1);
  fs::path folder = mount;
  for (const fs::path& part : fs::path(group)) {
    if (part.empty() || part == "..") break;
    folder /= part;
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace

std::optional<double> cgroup_cpu_limit(const fs::path& membership, const fs::path& mount) {
  std::optional<double> limit;
  const auto take = [&](std::optional<double> other) {
    if (other) limit = limit ? std::min(*limit, *other) : *other;
  };
  take(limit_v2(mount));
  for (const char* controller : {"cpu", "cpu,cpuacct"}) take(limit_v1(mount / controller));
  // "0::/group" is v2, "4:cpu,cpuacct:/group" v1.
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for (const fs::path& folder : folders_up(mount, group)) take(limit_v2(folder));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      for (const std::string& name : {std::string("cpu"), controllers}) {
        for (const fs::path& folder : folders_up(mount / name, group)) take(limit_v1(folder));
      }
    }
  }
  return limit;
}

}  // namespace pippin
