#include "pippin/base/files/output.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(Output, WritesPadsAndPatches) {
  const TempDir dir;
  FileWriter writer(dir / "blob");
  writer.write("head");
  writer.pad_to(64);
  EXPECT_EQ(writer.position(), 64u);
  writer.write(std::string(3 << 20, 'x'));
  writer.write_at(0, as_byte_span("HEAD"));
  writer.close();
  const std::string content = read_file(dir / "blob");
  ASSERT_EQ(content.size(), 64u + (3 << 20));
  EXPECT_EQ(content.substr(0, 4), "HEAD");
  EXPECT_EQ(content[63], '\0');
  EXPECT_EQ(content.back(), 'x');
}

TEST(Output, NothingIsLeftWithoutCommit) {
  const TempDir dir;
  write_file(dir / "out", "old");
  {
    PendingOutput output(dir / "out");
    write_file(output.path(), "new");
  }
  EXPECT_EQ(read_file(dir / "out"), "old");
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(Output, ReplacesAFolderThatHasFiles) {
  const TempDir dir;
  fs::create_directory(dir / "out");
  write_file(dir / "out/stale", "old");
  PendingOutput output(dir / "out");
  fs::create_directory(output.path());
  write_file(output.path() / "fresh", "new");
  output.commit();
  EXPECT_TRUE(fs::exists(dir / "out/fresh"));
  EXPECT_FALSE(fs::exists(dir / "out/stale"));
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(Output, AFullDiskIsOneError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  FileWriter writer("/dev/full");
  writer.write("x");
  EXPECT_ERROR(writer.close(), ErrorCode::Io, "/dev/full: writing 1 bytes at offset 0 failed");
}

TEST(Output, AMissingFolderIsNamed) {
  const TempDir dir;
  EXPECT_ERROR(PendingOutput(dir / "none/out"), ErrorCode::NotFound, "none: no such folder");
}

}  // namespace
}  // namespace pippin
