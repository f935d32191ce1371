#include "pippin/io/unzip.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/zip_testing.h"

namespace pippin {
namespace {

// Also checks that a rejected archive writes nothing.
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

// A stored_zip() with one entry that has a Unix mode.
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

// gzip -9 of "Hello, hello, hello, hello.
// ", with its original name.
std::string hello_gz() {
  constexpr unsigned char kBytes[] = {0x1f, 0x8b, 0x08, 0x08, 0x00, 0x00, 0x00, 0x00, 0x02,
                                      0xff, 0x68, 0x00, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0xd7,
                                      0x51, 0xc8, 0xc0, 0xa4, 0xf4, 0xb8, 0x00, 0xac, 0x7d,
                                      0xa7, 0x14, 0x1c, 0x00, 0x00, 0x00};
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};
}

TEST(Gunzip, WritesTheContent) {
  const TempDir folder;
  gunzip(as_byte_span(hello_gz()), "h.gz", folder / "h");
  EXPECT_EQ(read_file(folder / "h"), "Hello, hello, hello, hello.\n");
}

TEST(Gunzip, RefusesWhatIsDamaged) {
  const TempDir folder;
  const auto refuses = [&](const std::string& file, const char* part) {
    EXPECT_ERROR(gunzip(as_byte_span(file), "h.gz", folder / "h"), ErrorCode::InvalidFile, part);
  };
  const std::string whole = hello_gz();
  refuses("hello", "h.gz: not a gzip file");
  refuses(whole.substr(0, 20), "h.gz: ");
  refuses(whole.substr(0, 12), "h.gz: ");
  for (size_t i : {size_t{2}, size_t{16}, whole.size() - 8, whole.size() - 2}) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    refuses(damaged, "h.gz: ");
  }
  EXPECT_ERROR(gunzip(as_byte_span(whole), "h.gz", folder / "h", {.max_bytes = 27}),
               ErrorCode::LimitExceeded, "more than 27 bytes");
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
