// For tests only: temporary folders and the place of the shared test data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "pippin/base/temporary_folder.h"

namespace pippin {

// A fresh folder that is removed at the end of the test.
class TempDir : public TemporaryFolder {
 public:
  TempDir() : TemporaryFolder("test") {}
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
