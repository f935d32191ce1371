#include "pippin/hub/answers.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::hub {
namespace {

const std::string kSha1(40, 'a');
const std::string kSha256(64, 'b');

Json parse(const std::string& text) {
  return Json::parse(text, "answer");
}

std::vector<RepoFile> tree(const std::string& text) {
  std::vector<RepoFile> files;
  parse_tree_page(parse(text), files);
  return files;
}

TEST(Answers, Commit) {
  EXPECT_EQ(parse_commit(parse(R"({"sha": ")" + kSha1 + R"(", "siblings": []})")), kSha1);
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "the key \"sha\" is missing"},
      {"[]", "expected an object, found an array"},
      {R"({"sha": null})", "sha: expected a string, found null"},
      {R"({"sha": "main"})", "sha: no commit hash"},
      {R"({"sha": 1})", "sha: expected a string, found 1"}};
  for (const auto& [text, part] : cases) {
    EXPECT_ERROR(parse_commit(parse(text)), ErrorCode::InvalidFile, part);
  }
}

TEST(Answers, Tree) {
  const auto files = tree(R"([{"type": "directory", "path": "d", "oid": "x", "size": 0},
      {"type": "file", "path": "d/a", "oid": ")" +
                          kSha1 + R"(", "size": 3},
      {"type": "file", "path": "b", "oid": ")" +
                          kSha1 + R"(", "size": 134,
       "lfs": {"oid": ")" +
                          kSha256 + R"(", "size": 9000000000, "pointerSize": 134}, "xetHash": ")" +
                          kSha256 + R"("}])");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "d/a");
  EXPECT_EQ(files[0].size, 3u);
  EXPECT_EQ(files[0].etag(), kSha1);
  EXPECT_EQ(files[1].size, 9000000000u);
  EXPECT_EQ(files[1].etag(), kSha256);
}

TEST(Answers, TreesThatLie) {
  const auto entry = [](const std::string& members) {
    return R"([{"type": "file", "path": "a", "oid": ")" + kSha1 + R"(", "size": 1)" + members +
           "}]";
  };
  EXPECT_EQ(tree(entry("")).size(), 1u);
  const std::pair<const char*, const char*> cases[] = {
      {R"(, "path": "../a")", "[0]: a file name that leaves its folder"},
      {R"(, "path": "/a")", "[0]: a file name that leaves its folder"},
      {R"(, "path": 1)", "[0].path: expected a string, found 1"},
      {R"(, "size": -1)", "[0].size: expected an integer from 0 to 1125899906842624, found -1"},
      {R"(, "size": 1.5)", "[0].size: expected an integer, found 1.5"},
      {R"(, "size": 1e30)", "[0].size: expected an integer, found 1e+30"},
      {R"(, "oid": "../x")", "[0]: a file without a git hash"},
      {R"(, "lfs": {})", "[0].lfs: the key \"sha256\" is missing"},
      {R"(, "lfs": {"oid": "", "size": 1})", "[0].lfs: no oid"},
      {R"(, "lfs": {"oid": "x/../y", "size": 1})", "[0]: an invalid SHA-256"},
      {R"(, "lfs": [])", "[0].lfs: expected an object, found an array"},
      {R"(, "xetHash": "x")", "[0]: an invalid Xet hash"}};
  for (const auto& [members, part] : cases) {
    SCOPED_TRACE(members);
    EXPECT_ERROR(tree(entry(members)), ErrorCode::InvalidFile, part);
  }
  EXPECT_ERROR(tree("{}"), ErrorCode::InvalidFile, "expected an array, found an object");
  EXPECT_ERROR(tree("[1]"), ErrorCode::InvalidFile, "[0]: expected an object, found 1");
}

TEST(Answers, NextLink) {
  EXPECT_EQ(next_link(R"(<https://h/x?cursor=a>; rel="next")"), "https://h/x?cursor=a");
  EXPECT_EQ(next_link(R"(<https://h/first>; rel="first", </y>; title=x; rel=next)"), "/y");
  EXPECT_EQ(next_link(R"(<https://h/a,b>;rel="NEXT")"), "https://h/a,b");
  for (const char* header : {"", "x", "<", "<x", R"(<x>; rel="prev")", R"(<x>; rel="nextish")"}) {
    EXPECT_FALSE(next_link(header)) << header;
  }
}

TEST(Answers, Etags) {
  EXPECT_EQ(normalize_etag(R"("abc")"), "abc");
  EXPECT_EQ(normalize_etag(R"(W/"abc")"), "abc");
  EXPECT_EQ(normalize_etag("abc"), "abc");
  EXPECT_EQ(normalize_etag(""), "");
}

TEST(Answers, ListingsAreHuggingfaceHubs) {
  RepoFile small{"config.json", 519, kSha1, "", ""};
  RepoFile large{"a.safetensors", 1234, kSha1, kSha256, kSha256};
  const std::string text = write_listing({small, large});
  EXPECT_EQ(text, R"({
 "format_version": 1,
 "files": {
  "a.safetensors": {
   "size": 1234,
   "blob_id": ")" + kSha1 +
                      R"(",
   "lfs_sha256": ")" + kSha256 +
                      R"(",
   "lfs_size": 1234,
   "xet_hash": ")" + kSha256 +
                      R"("
  },
  "config.json": {
   "size": 519,
   "blob_id": ")" + kSha1 +
                      R"("
  }
 }
})");
  const auto files = parse_listing(parse(text));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].etag(), kSha256);
  EXPECT_EQ(files[1].path, "config.json");
  EXPECT_ERROR(parse_listing(parse(R"({"format_version": 2, "files": {}})")),
               ErrorCode::Unsupported, "another version than 1");
  EXPECT_ERROR(parse_listing(parse(R"({"format_version": 1, "files": {"../a": {"size": 1,
      "blob_id": "x"}}})")),
               ErrorCode::InvalidFile, "files.../a: a file name that leaves its folder");
}

TEST(Answers, Shards) {
  EXPECT_EQ(
      parse_shards(parse(R"({"metadata": {}, "weight_map": {"x": "b", "y": "a", "z": "b"}})")),
      (std::vector<std::string>{"a", "b"}));
  EXPECT_ERROR(parse_shards(parse(R"({"weight_map": {"x": "../b"}})")), ErrorCode::InvalidFile,
               "weight_map.x: a file name that leaves its folder");
  EXPECT_ERROR(parse_shards(parse("{}")), ErrorCode::InvalidFile,
               "the key \"weight_map\" is missing");
}

}  // namespace
}  // namespace pippin::hub
