// The control groups of this process, which set a container's limits.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace pippin {

struct CgroupPlaces {
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};

// The folders of the process's own group and its ancestors, in which the controller ("cpu",
// "memory") may have files, for versions 2 and 1. Some may not exist.
struct CgroupFolders {
  std::vector<std::filesystem::path> v2, v1;
};
CgroupFolders cgroup_folders(std::string_view controller, const CgroupPlaces& places);

// Returns the number at the start of a file; nothing if none exists.
std::optional<double> number_in(const std::filesystem::path& path);

}  // namespace pippin
