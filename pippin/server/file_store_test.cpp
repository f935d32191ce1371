#include "pippin/server/file_store.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/server/api_error.h"
#include "pippin/server/kept_files.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  static StoredFile named(const std::string& name) {
    StoredFile file;
    file.name = name;
    file.purpose = "batch";
    return file;
  }
  // The names in the folder.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ / "files")) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  TempDir folder_;
};

TEST_F(Files, SurviveARestart) {
  std::string id;
  {
    FileStore store(folder_ / "files", 1000);
    const StoredFile first = store.upload(named("a \"b\".jsonl"), "one");
    id = store.upload(named("c"), std::string("\0two", 4)).id;
    EXPECT_NE(first.id, id);
    EXPECT_TRUE(FileStore::is_id(id)) << id;
    EXPECT_EQ(first.bytes, 3u);
    EXPECT_GT(first.created_at(), 1'700'000'000);
  }
  write_file(folder_ / "files/ignored", "");
  fs::create_directories(folder_ / "files/.new-file-0/deep");  // of a process that was killed
  FileStore store(folder_ / "files", 1000);
  const std::vector<StoredFile> files = store.list();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "a \"b\".jsonl");
  EXPECT_EQ(files[1].id, id);
  EXPECT_EQ(store.read(id), std::string("\0two", 4));
  EXPECT_TRUE(store.remove(id));
  EXPECT_FALSE(store.remove(id));
  EXPECT_EQ(store.read(id), std::nullopt);
  EXPECT_EQ(names().size(), 2u);  // the first file, and the one that is ignored
}

TEST_F(Files, HaveALimitTogether) {
  FileStore store(folder_ / "files", 10);
  const std::string id = store.upload(named("a"), "12345678").id;
  try {
    store.upload(named("b"), "123");
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 507);
    EXPECT_STREQ(error.what(), "file: has 3 B, and the stored files 8 B of 10 B (--files-size)");
  }
  store.remove(id);
  EXPECT_EQ(store.upload(named("b"), "123").bytes, 3u);
}

TEST_F(Files, AFailedWriteLeavesNothing) {
  FileStore store(folder_ / "files", 10);
  StoredFile file = named("a");
  file.id = std::string(FileStore::kPrefix) + std::string(48, '0');
  EXPECT_ERROR(store.add(file,
                         [](FileWriter& out) {
                           out.write("some");
                           fail(ErrorCode::Io, "the disk is full");
                         }),
               ErrorCode::Io, "the disk is full");
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(store.list().empty());
  // Repeated after a crash, the first one stays.
  store.add(file, [](FileWriter& out) { out.write("first"); });
  store.add(file, [](FileWriter& out) { out.write("second"); });
  EXPECT_EQ(store.read(file.id), "first");
}

// A limit on the size of files stands for a full disk.
TEST_F(Files, AFullDiskLeavesNothing) {
  FileStore store(folder_ / "files", 10'000);
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 500;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string fault = "none";
  try {
    store.upload(named("a"), std::string(6000, 'x'));
  } catch (const ApiError& error) {
    fault = fmt::format("{} {}", error.status, error.what());
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(fault, "507 the server's disk is full, or cannot be written");
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(store.upload(named("a"), std::string(6000, 'x')).bytes, 6000u);
}

TEST_F(Files, ExpiredOnesAreGone) {
  FileStore store(folder_ / "files", 10);
  StoredFile file = named("a");
  file.expires_at = 1;
  const std::string id = store.upload(file, "x").id;
  EXPECT_TRUE(store.list().empty());
  EXPECT_EQ(store.read(id), std::nullopt);
  EXPECT_EQ(names().size(), 1u);
  store.remove_expired();
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, IdsAreNoPaths) {
  FileStore store(folder_ / "files", 10);
  for (const char* id : {"", "..", "../files", "file-", "file-../../etc/passwd"}) {
    EXPECT_FALSE(FileStore::is_id(id));
    EXPECT_EQ(store.read(id), std::nullopt);
    EXPECT_FALSE(store.link(id, folder_ / "other"));
    EXPECT_FALSE(store.remove(id));
  }
}

TEST_F(Files, BelongToOneServer) {
  const FilesOptions options{.folder = folder_ / "kept"};
  const KeptFiles kept(options);
  EXPECT_ERROR(KeptFiles{options}, ErrorCode::InvalidArgument,
               "another server keeps its files there");
  const auto others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(folder_ / "kept/files").permissions() & others, fs::perms::none);
}

}  // namespace
}  // namespace pippin::server
