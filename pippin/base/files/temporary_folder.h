// A temporary directory, removed on destruction.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "pippin/base/threads/fork.h"

namespace pippin {

// Created in TMPDIR (default /tmp) with a name such as pippin-PURPOSE-x7Gq2a; removed with its
// content.
class TemporaryFolder {
 public:
  // Throws Io if no folder can be created.
  explicit TemporaryFolder(std::string_view purpose);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  uint32_t process_ = fork_count();  // a child's copy does not remove the parent's folder
};

}  // namespace pippin
