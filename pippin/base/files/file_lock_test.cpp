#include "pippin/base/files/file_lock.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

TEST(FileLock, IsForOneAtATime) {
  const TempDir folder;
  const fs::path path = folder / "sub/x.lock";
  {
    const auto first = FileLock::try_lock(path);
    ASSERT_TRUE(first);
    EXPECT_FALSE(FileLock::try_lock(path));
  }
  const auto again = FileLock::try_lock(path);
  EXPECT_TRUE(again);
  EXPECT_TRUE(fs::exists(path));
  // A lock on a removed file does not cover its successor.
  fs::remove(path);
  EXPECT_TRUE(FileLock::try_lock(path));
}

}  // namespace
}  // namespace pippin
