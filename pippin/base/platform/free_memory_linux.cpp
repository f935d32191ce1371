#include "pippin/base/platform/free_memory_linux.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <unistd.h>

#include "pippin/base/platform/free_memory.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Returns the number that follows a word at the start of a line.
std::optional<double> number_behind(const fs::path& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(word, 0) != 0) continue;
    try {
      return std::stod(line.substr(word.size()));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Returns the memory that a group has left; "max" is not a number.
double left_in(const fs::path& folder, const char* limit_name, const char* usage_name,
               const std::string& files) {
  const auto limit = number_in(folder / limit_name), usage = number_in(folder / usage_name);
  if (!limit || !usage) return std::numeric_limits<double>::infinity();
  const double pages = number_behind(folder / "memory.stat", files).value_or(0);
  return std::max(*limit - std::max(*usage - pages, 0.0), 0.0);
}

}  // namespace

uint64_t free_memory(const fs::path& meminfo, const CgroupPlaces& places) {
  constexpr double kKibi = 1024;
  double bytes = 0;
  if (const auto kib = number_behind(meminfo, "MemAvailable:")) {
    bytes = *kib * kKibi;
  } else {
    constexpr double kPart = 0.25;
    bytes = kPart * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
            static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  const CgroupFolders folders = cgroup_folders("memory", places);
  for (const fs::path& folder : folders.v2) {
    bytes = std::min(bytes, left_in(folder, "memory.max", "memory.current", "inactive_file "));
  }
  for (const fs::path& folder : folders.v1) {
    bytes = std::min(bytes, left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                    "total_inactive_file "));
  }
  return static_cast<uint64_t>(std::max(bytes, 0.0));
}

uint64_t total_memory(const fs::path& meminfo, const CgroupPlaces& places) {
  constexpr double kKibi = 1024;
  const auto kib = number_behind(meminfo, "MemTotal:");
  double bytes = kib ? *kib * kKibi
                     : static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                           static_cast<double>(::sysconf(_SC_PAGESIZE));
  const CgroupFolders folders = cgroup_folders("memory", places);
  for (const fs::path& folder : folders.v2) {
    bytes = std::min(bytes, number_in(folder / "memory.max").value_or(bytes));
  }
  for (const fs::path& folder : folders.v1) {
    bytes = std::min(bytes, number_in(folder / "memory.limit_in_bytes").value_or(bytes));
  }
  return static_cast<uint64_t>(std::max(bytes, 0.0));
}

uint64_t free_memory() {
  return free_memory("/proc/meminfo", {});
}

uint64_t total_memory() {
  return total_memory("/proc/meminfo", {});
}

}  // namespace pippin
