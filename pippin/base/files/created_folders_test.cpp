#include "pippin/base/files/created_folders.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

TEST(CreatedFolders, AreRemovedIfTheyAreEmpty) {
  const TempDir scratch;
  fs::create_directory(scratch / "old");
  {
    CreatedFolders folders;
    folders.create(scratch / "old" / "a" / "b");
    folders.create(scratch / "old" / "a" / "c/");
    folders.create(scratch / "old" / "d" / "e");
    EXPECT_TRUE(fs::is_directory(scratch / "old" / "a" / "c"));
    write_file(scratch / "old" / "d" / "file", "");
  }
  EXPECT_TRUE(fs::exists(scratch / "old" / "d" / "file"));
  EXPECT_FALSE(fs::exists(scratch / "old" / "d" / "e"));
  EXPECT_FALSE(fs::exists(scratch / "old" / "a"));
  {
    CreatedFolders folders;
    folders.create(scratch / "old");  // was there before
  }
  EXPECT_TRUE(fs::exists(scratch / "old"));
  {
    CreatedFolders folders;
    folders.create(scratch / "kept" / "empty");
    folders.keep();
  }
  EXPECT_TRUE(fs::exists(scratch / "kept" / "empty"));
}

TEST(CreatedFolders, NameTheFolderThatCannotBe) {
  const TempDir scratch;
  write_file(scratch / "file", "");
  CreatedFolders folders;
  EXPECT_ERROR(folders.create(scratch / "file" / "a"), ErrorCode::Io,
               (scratch / "file").string() + ": cannot make the folder: ");
}

}  // namespace
}  // namespace pippin
