#include "pippin/io/unzip.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/zip_testing.h"

namespace pippin {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

// Nothing may be written by an archive that is refused.
ErrorCode code_of(const std::string& archive, const UnzipLimits& limits = {}) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "in");
  ErrorCode code = ErrorCode::Internal;
  try {
    unzip(as_byte_span(archive), "x.zip", folder / "in", limits);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("x.zip: ")) << error.what();
    code = error.code();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "in"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  return code;
}

// stored_zip() with one entry of a Unix mode.
std::string one_entry(const std::string& name, const std::string& content, uint32_t mode) {
  std::string file = stored_zip({{name, content}});
  const size_t directory = 30 + name.size() + content.size();
  std::string attributes;
  append_number<uint32_t>(attributes, mode << 16);
  file[directory + 5] = 3;  // made by Unix
  file.replace(directory + 38, 4, attributes);
  return file;
}

TEST(Unzip, WritesTheEntries) {
  const TempDir folder;
  unzip(as_byte_span(one_entry("m.mlmodelc/weights/weight.bin", "abc", 0100644)), "x.zip",
        folder.path());
  EXPECT_EQ(read_file(folder / "m.mlmodelc/weights/weight.bin"), "abc");
  unzip(as_byte_span(one_entry("__MACOSX/m", "abc", 0100644)), "x.zip", folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "__MACOSX"));
}

TEST(Unzip, NoEntryLeavesTheFolder) {
  for (const char* name :
       {"../x", "a/../../x", "/x", "a\\..\\x", "C:x", "..", ".", "a/..", "\nx"}) {
    EXPECT_EQ(code_of(stored_zip({{name, "1"}})), ErrorCode::InvalidFile) << name;
  }
}

TEST(Unzip, RefusesLinksAndDevices) {
  EXPECT_EQ(code_of(one_entry("a", "/etc", 0120777)), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of(one_entry("a", "", 0020777)), ErrorCode::InvalidFile);
}

TEST(Unzip, ChecksSizesBeforeItWrites) {
  EXPECT_EQ(code_of(stored_zip({{"a", "12"}, {"b", "34"}}), {.max_bytes = 3}),
            ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(stored_zip({{"a", ""}, {"b", ""}}), {.max_bytes = 9, .max_entries = 1}),
            ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(stored_zip({{"a", "1"}, {"./a", "2"}})), ErrorCode::InvalidFile);
  std::string bomb = stored_zip({{"a", "12345678"}}, 8);
  const size_t directory = 30 + 1 + 8;
  std::string size;
  append_number<uint32_t>(size, 1U << 30);
  bomb.replace(22, 4, size);
  bomb.replace(directory + 24, 4, size);
  EXPECT_EQ(code_of(bomb), ErrorCode::InvalidFile);
}

TEST(Unzip, RefusesWhatIsNoArchive) {
  EXPECT_EQ(code_of(""), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of(std::string(100, 'x')), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of(stored_zip({{"a", "1"}}, 12)), ErrorCode::Unsupported);
  const std::string whole = stored_zip({{"a", "1"}});
  EXPECT_EQ(code_of(whole.substr(0, whole.size() - 5)), ErrorCode::InvalidFile);
}

TEST(Unzip, ADamagedEntryIsAnError) {
  std::string damaged = one_entry("a", "abc", 0100644);
  damaged[31] = 'z';
  const TempDir folder;
  EXPECT_ERROR(unzip(as_byte_span(damaged), "x.zip", folder.path()), ErrorCode::InvalidFile,
               "x.zip: a: damaged: CRC error");
}

}  // namespace
}  // namespace pippin
