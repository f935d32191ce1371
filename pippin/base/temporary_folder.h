// A folder of its own for as long as it is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "pippin/base/fork.h"

namespace pippin {

// Made in TMPDIR (/tmp) with a name like pippin-PURPOSE-x7Gq2a, and removed with all that is in it.
class TemporaryFolder {
 public:
  // Throws Io where none can be made.
  explicit TemporaryFolder(std::string_view purpose);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  uint32_t process_ = fork_count();  // a child's copy leaves the parent's folder
};

}  // namespace pippin
