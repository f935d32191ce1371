#include "pippin/base/files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

// Sets TMPDIR until the end of the scope.
class TmpdirScope {
 public:
  explicit TmpdirScope(const std::string& value) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", value.c_str(), 1);
  }
  ~TmpdirScope() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  TmpdirScope(const TmpdirScope&) = delete;
  TmpdirScope& operator=(const TmpdirScope&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(TemporaryFolder, IsMadeInTmpdirAndRemoved) {
  const TempDir parent;
  const TmpdirScope scope(parent.path().string());
  {
    const TemporaryFolder folder("test");
    EXPECT_EQ(folder.path().parent_path(), parent.path());
    EXPECT_TRUE(std::filesystem::is_directory(folder.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(TemporaryFolder, AnErrorNamesTmpdir) {
  const TmpdirScope scope("/nonexistent/folder");
  EXPECT_ERROR(TemporaryFolder("test"), ErrorCode::Io, "TMPDIR (/nonexistent/folder): ");
}

}  // namespace
}  // namespace pippin
