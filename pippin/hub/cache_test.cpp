#include "pippin/hub/cache.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/file_lock.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/hub/cache_scan.h"
#include "pippin/hub/partial_file.h"
#include "pippin/hub/piece_request.h"
#include "pippin/io/digest.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, '1');

RepoFile file_of(const std::string& path, const std::string& content, bool large) {
  RepoFile file;
  file.path = path;
  file.size = content.size();
  Digest git = Digest::git_blob(content.size());
  git.update(as_byte_span(content));
  file.git_sha1 = git.finish();
  Digest sha256 = Digest::sha256();
  sha256.update(as_byte_span(content));
  if (large) file.sha256 = sha256.finish();
  return file;
}

TEST(Digest, KnownOnes) {
  // Expected values from git hash-object and sha256sum.
  EXPECT_EQ(file_of("a", "", false).etag(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(file_of("a", "hello\n", false).etag(), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(file_of("a", "hello\n", true).etag(),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
}

TEST(Cache, RefsAndLinks) {
  const TempDir folder;
  const RepoCache cache(folder.path(), "org/name");
  EXPECT_EQ(cache.folder(), folder / "models--org--name");
  EXPECT_FALSE(cache.find_commit("main"));
  EXPECT_EQ(cache.find_commit(kCommit), kCommit);
  cache.write_ref("main", kCommit);
  cache.write_ref("refs/pr/1", kCommit);
  EXPECT_EQ(read_file(folder / "models--org--name" / "refs" / "refs" / "pr" / "1"), kCommit);
  EXPECT_EQ(cache.find_commit("main"), kCommit);
  EXPECT_ERROR(cache.write_ref("../../x", kCommit), ErrorCode::InvalidArgument,
               "\"../../x\" is not a branch, tag or commit");
  EXPECT_FALSE(cache.find_commit("../refs/main"));

  const RepoFile file = file_of("a/b/c.bin", "content", true);
  EXPECT_FALSE(cache.has(kCommit, file));
  write_file(cache.blob(file.etag()), "content");
  cache.link(kCommit, file);
  cache.link(kCommit, file);
  EXPECT_TRUE(cache.has(kCommit, file));
  EXPECT_EQ(fs::read_symlink(cache.pointer(kCommit, file.path)),
            "../../../../blobs/" + file.etag());
  fs::remove(cache.blob(file.etag()));
  EXPECT_FALSE(cache.has(kCommit, file));
  EXPECT_ERROR(cache.pointer(kCommit, "../x"), ErrorCode::InvalidArgument,
               "\"../x\" is not a file name");
  // Nothing outside the layout.
  EXPECT_TRUE(fs::is_empty(cache.folder() / "blobs"));
}

TEST(Cache, Listings) {
  const TempDir folder;
  const RepoCache cache(folder.path(), "org/name");
  EXPECT_FALSE(cache.read_listing(kCommit));
  cache.write_listing(kCommit, {file_of("a", "x", false)});
  ASSERT_TRUE(cache.read_listing(kCommit));
  EXPECT_EQ(cache.read_listing(kCommit)->at(0).path, "a");
  write_file(cache.folder() / "trees" / (kCommit + ".json"), "{");
  EXPECT_FALSE(cache.read_listing(kCommit));
}

TEST(PartialFile, GoesOnWhereItStopped) {
  const TempDir folder;
  const RepoFile file = file_of("a", "0123456789", true);
  {
    PartialFile partial(folder / "a.incomplete", file);
    partial.append(as_byte_span("01234"));
  }
  PartialFile partial(folder / "a.incomplete", file);
  EXPECT_EQ(partial.size(), 5u);
  partial.append(as_byte_span("56789"));
  EXPECT_ERROR(partial.append(as_byte_span("x")), ErrorCode::LimitExceeded,
               "a: more bytes than the 10 that the Hub lists");
  EXPECT_EQ(partial.digest(), file.etag());
  partial.commit(folder / "a");
  EXPECT_EQ(read_file(folder / "a"), "0123456789");
  EXPECT_FALSE(fs::exists(folder / "a.incomplete"));
  EXPECT_TRUE(has_content(folder / "a", file));
  write_file(folder / "a", "0123456780");
  EXPECT_FALSE(has_content(folder / "a", file));
}

TEST(PartialFile, CutsOffWhatIsTooMuch) {
  const TempDir folder;
  write_file(folder / "a.incomplete", "much too long for it");
  PartialFile partial(folder / "a.incomplete", file_of("a", "0123456789", false));
  EXPECT_EQ(partial.size(), 0u);
  partial.append(as_byte_span("01"));
  partial.restart();
  EXPECT_EQ(partial.size(), 0u);
  partial.append(as_byte_span("0123456789"));
  EXPECT_EQ(partial.digest(), file_of("a", "0123456789", false).etag());
}

TEST(PieceRequest, ContentRanges) {
  EXPECT_TRUE(content_range_fits("bytes 5-9/10", 5, 10));
  EXPECT_TRUE(content_range_fits("bytes 5-6/*", 5, 10));
  for (const char* header :
       {"", "bytes", "bytes 4-9/10", "bytes 5-9/11", "bytes 5-10/10", "bytes 5-4/10", "bytes 5/10",
        "bytes */10", "bytes 5-9", "5-9/10", "bytes 5-9/99999999999999999999"}) {
    EXPECT_FALSE(content_range_fits(header, 5, 10)) << header;
  }
}

class Removal : public testing::Test {
 protected:
  void add(const std::string& commit, const std::string& path, const std::string& content) {
    const RepoFile file = file_of(path, content, false);
    write_file_in(cache.blob(file.etag()), content);
    cache.link(commit, file);
  }
  static void write_file_in(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    write_file(path, content);
  }

  TempDir folder;
  RepoCache cache{folder.path(), "org/name"};
  std::string second = std::string(39, '1') + "2";
};

TEST_F(Removal, OfOneRevisionLeavesTheOthers) {
  add(kCommit, "shared", "12345");
  add(second, "shared", "12345");
  add(kCommit, "own", "123");
  cache.write_ref("main", second);
  cache.write_ref("old", kCommit);
  EXPECT_ERROR(remove_cached(folder.path(), "org/name", "1111"), ErrorCode::InvalidArgument,
               "1111111111111111111111111111111111111112 begin with 1111");  // both
  EXPECT_ERROR(remove_cached(folder.path(), "org/name", "3333"), ErrorCode::NotFound,
               "org/name@3333 is not in the cache");
  EXPECT_ERROR(remove_cached(folder.path(), "org/none", ""), ErrorCode::NotFound,
               "org/none is not in the cache");
  const auto result = remove_cached(folder.path(), "org/name", "old");
  EXPECT_EQ(result.commits, std::vector<std::string>{kCommit});
  EXPECT_EQ(result.bytes, 3u);
  EXPECT_FALSE(result.whole_repo);
  EXPECT_FALSE(cache.find_commit("old"));
  EXPECT_EQ(cache.find_commit("main"), second);
  const auto repos = scan_cache(folder.path());
  ASSERT_EQ(repos.size(), 1u);
  EXPECT_EQ(repos[0].bytes, 5u);
  ASSERT_EQ(repos[0].revisions.size(), 1u);
  EXPECT_EQ(repos[0].revisions[0].refs, std::vector<std::string>{"main"});
}

TEST_F(Removal, OfAllLeavesNothing) {
  add(kCommit, "a/b", "12345");
  cache.write_ref("main", kCommit);
  write_file(cache.blob(std::string(64, 'c') + ".incomplete"), "1");
  const auto result = remove_cached(folder.path(), "org/name", "");
  EXPECT_EQ(result.bytes, 6u);
  EXPECT_TRUE(result.whole_repo);
  EXPECT_FALSE(fs::exists(cache.folder()));
  EXPECT_TRUE(scan_cache(folder.path()).empty());
}

TEST_F(Removal, WaitsForNobodysDownload) {
  add(kCommit, "a", "12345");
  const RepoFile file = file_of("a", "12345", false);
  const auto lock = FileLock::try_lock(cache.lock(file.etag()));
  EXPECT_ERROR(remove_cached(folder.path(), "org/name", ""), ErrorCode::Io,
               "another process has just begun to use it; the rest is removed");
  EXPECT_TRUE(fs::exists(cache.blob(file.etag())));
}

}  // namespace
}  // namespace pippin::hub
