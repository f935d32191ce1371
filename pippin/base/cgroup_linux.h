// The control groups that this process is in: what a container gives to it.
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

// The folders of the process's own group and those around it, where the controller ("cpu",
// "memory") may have its files: of version 2 and of version 1. Not all of them need exist.
struct CgroupFolders {
  std::vector<std::filesystem::path> v2, v1;
};
CgroupFolders cgroup_folders(std::string_view controller, const CgroupPlaces& places);

// The number at the beginning of a file; nothing where there is none.
std::optional<double> number_in(const std::filesystem::path& path);

}  // namespace pippin
