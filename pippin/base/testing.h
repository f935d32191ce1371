// For tests only: temporary folders and the place of the shared test data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <unistd.h>

namespace pippin {

// A fresh folder that is removed at the end of the test.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pippin-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The folder data/<name> of the shared test data (PIPPIN_SHARED, default ../shared beside the
// sources), or nothing where it is absent: the test then skips and says so.
inline std::optional<std::filesystem::path> shared_data(const std::string& name) {
  const char* set = std::getenv("PIPPIN_SHARED");
  const std::filesystem::path root =
      set != nullptr ? set : std::filesystem::path(PIPPIN_SOURCE_DIR) / ".." / "shared";
  auto path = root / "data" / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return std::filesystem::canonical(path);
}

}  // namespace pippin

// PIPPIN_SHARED_OR_SKIP(path, "models/stories260K"); declares `path` in a TEST, or skips it.
#define PIPPIN_SHARED_OR_SKIP(variable, name)                                           \
  const auto variable##_found = ::pippin::shared_data(name);                            \
  if (!variable##_found) GTEST_SKIP() << "shared test data is absent: data/" << (name); \
  const std::filesystem::path& variable = *variable##_found
