#include "pippin/base/stand_in.h"

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

constexpr std::string_view kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 538000\n";

TEST(StandIn, APointerIsNamedWithTheSizeThatItStandsFor) {
  const TempDir folder;
  write_file(folder / "weight.bin", kPointer);
  EXPECT_ERROR(MappedFile::open(folder / "weight.bin"), ErrorCode::InvalidFile,
               "weight.bin: a Git LFS pointer, which stands for a file of 538000 bytes; `git lfs "
               "pull`");
  EXPECT_ERROR(read_file(folder / "weight.bin"), ErrorCode::InvalidFile, "a Git LFS pointer");
  write_file(folder / "old", "version https://hawser.github.com/spec/v1\noid sha256:00\n");
  EXPECT_ERROR(read_file(folder / "old"), ErrorCode::InvalidFile, "a file of unknown bytes");
}

TEST(StandIn, APageIsNamed) {
  const TempDir folder;
  for (const char* page : {"<!DOCTYPE html>\n<html>", "\xef\xbb\xbf \r\n<HTML lang=en>"}) {
    write_file(folder / "x", page);
    EXPECT_ERROR(read_file(folder / "x"), ErrorCode::InvalidFile, "x: an HTML page");
  }
  write_file(folder / "x", "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>");
  EXPECT_ERROR(read_file(folder / "x"), ErrorCode::InvalidFile, "x: an XML document");
}

TEST(StandIn, OtherFilesAndTextsOfPeopleAreRead) {
  const TempDir folder;
  for (const char* text : {"", "version 2", "<|im_start|>", "{\"a\": \"<html>\"}", "<htm"}) {
    write_file(folder / "x", text);
    EXPECT_EQ(read_file(folder / "x"), text);
  }
  write_file(folder / "x", std::string(kPointer) + std::string(1024, ' '));
  EXPECT_EQ(read_file(folder / "x").size(), kPointer.size() + 1024);
  write_file(folder / "x", "<html>");
  EXPECT_EQ(read_file(folder / "x", 100, StandIns::Allow), "<html>");
}

}  // namespace
}  // namespace pippin
