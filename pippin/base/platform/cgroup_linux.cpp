#include "pippin/base/platform/cgroup_linux.h"

#include <fstream>
#include <string>

#include <fmt/format.h>

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Adds the group's folder and its ancestors up to the mount. In a container with its own namespace,
// the group is at the mount, regardless of the membership file.
void add_folders_up(const fs::path& mount, std::string group, std::vector<fs::path>& folders) {
  folders.push_back(mount);
  while (!group.empty() && group.front() == '/') group.erase(0, 1);
  fs::path folder = mount;
  for (const fs::path& part : fs::path(group)) {
    if (part.empty() || part == "..") break;
    folder /= part;
    folders.push_back(folder);
  }
}

}  // namespace

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

CgroupFolders cgroup_folders(std::string_view controller, const CgroupPlaces& places) {
  CgroupFolders folders;
  folders.v2.push_back(places.mount);
  folders.v1.push_back(places.mount / controller);
  // "0::/group" is version 2, "4:cpu,cpuacct:/group" version 1.
  std::ifstream file(places.membership);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      add_folders_up(places.mount, group, folders.v2);
    } else if (("," + controllers + ",").find(fmt::format(",{},", controller)) !=
               std::string::npos) {
      add_folders_up(places.mount / controller, group, folders.v1);
      add_folders_up(places.mount / controllers, group, folders.v1);
    }
  }
  return folders;
}

}  // namespace pippin
