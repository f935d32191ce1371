// Answers of servers that are wrong, and which files a push lists and deletes.
// tests/hub/push_test.py tests whole pushes.
#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/testing.h"
#include "pippin/hub/push/object_upload.h"
#include "pippin/hub/push/plan.h"
#include "pippin/hub/push/push_answers.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

const std::string kHash(64, 'a');

std::vector<LfsAnswer> batch(const std::string& object) {
  return parse_lfs_batch(
      Json::parse(R"({"transfer": "multipart", "objects": [)" + object + "]}", "answer"),
      "org/name");
}

std::string upload(const std::string& size, const std::string& header) {
  return R"({"oid": ")" + kHash + R"(", "size": )" + size +
         R"(, "actions": {"upload": {"href": "https://h/c", "header": )" + header + "}}}";
}

TEST(PushAnswers, PartsAreSortedByNumber) {
  const auto told =
      batch(upload("25", R"({"chunk_size": "10", "3": "https://h/3", "00001": "https://h/1",
                             "00002": "https://h/2"})"));
  ASSERT_TRUE(told.at(0).action);
  EXPECT_EQ(told[0].action->part_bytes, 10U);
  EXPECT_EQ(told[0].action->parts,
            (std::vector<std::string>{"https://h/1", "https://h/2", "https://h/3"}));
  EXPECT_FALSE(batch(R"({"oid": ")" + kHash + R"("})").at(0).action);
}

TEST(PushAnswers, WrongPartsAreRejected) {
  const auto message = [](const std::string& size, const std::string& header) {
    try {
      batch(upload(size, header));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(message("25", R"({"chunk_size": "10", "1": "https://h/1", "3": "https://h/3"})")
                .find("no URL for part 2"),
            std::string::npos);
  EXPECT_NE(message("9", R"({"chunk_size": 10, "1": "https://h/1", "2": "https://h/2"})")
                .find("9 bytes have 1 parts of 10"),
            std::string::npos);
  EXPECT_NE(message("9", R"({"chunk_size": "10", "1": "file:///etc/passwd"})").find("not an http"),
            std::string::npos);
  EXPECT_NE(message("9", R"({"chunk_size": "0"})").find("not a size"), std::string::npos);
  EXPECT_NE(message("1000000000", R"({"chunk_size": "1"})").find("too many parts"),
            std::string::npos);
  EXPECT_NE(message("9", "{\"X-A\": \"b\\r\\nHost: c\"}").find("not a header"), std::string::npos);
}

TEST(PushAnswers, OtherTransfersAndModes) {
  EXPECT_THROW(parse_lfs_batch(Json::parse(R"({"transfer": "xet", "objects": []})", "a"), "o/n"),
               Error);
  EXPECT_THROW(
      parse_preupload(Json::parse(R"({"files": [{"path": "a", "uploadMode": "xet"}]})", "a")),
      Error);
  EXPECT_THROW(parse_commit_answer(Json::parse(R"({"commitOid": "main"})", "a")), Error);
}

class PushFiles : public testing::Test {
 protected:
  void write(const std::string& path) {
    fs::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << path;
  }
  std::vector<std::string> list(const std::string& source, const ListOptions& options = {}) {
    std::vector<std::string> paths;
    for (const LocalFile& file : list_local_files(folder_.path() / source, options)) {
      paths.push_back(file.path);
    }
    return paths;
  }
  TemporaryFolder folder_{"push-test"};
};

using Paths = std::vector<std::string>;

TEST_F(PushFiles, NamesInTheRepository) {
  write("m/X.mlpackage/Manifest.json");
  write("m/config.json");
  EXPECT_EQ(list("m"), (Paths{"X.mlpackage/Manifest.json", "config.json"}));
  EXPECT_EQ(list("m/"), list("m"));
  EXPECT_EQ(list("m/X.mlpackage/"), (Paths{"X.mlpackage/Manifest.json"}));
  EXPECT_EQ(list("m/config.json"), (Paths{"config.json"}));
  ListOptions options;
  options.path_in_repo = "int4/";
  EXPECT_EQ(list("m", options), (Paths{"int4/X.mlpackage/Manifest.json", "int4/config.json"}));
  EXPECT_EQ(list("m/X.mlpackage", options), (Paths{"int4/Manifest.json"}));
  options.path_in_repo = "../x";
  EXPECT_THROW(list("m", options), Error);
}

TEST_F(PushFiles, DeletedPaths) {
  const auto there = [](const std::string& path) {
    RepoFile file;
    file.path = path;
    return file;
  };
  const std::vector<LocalFile> files = {{"X.mlpackage/a", "", 1, 0}, {"config.json", "", 1, 0}};
  const std::vector<RepoFile> remote = {there("X.mlpackage/a"), there("X.mlpackage/b"),
                                        there("Y.mlpackage/b"), there("old.json")};
  PushOptions options;
  EXPECT_EQ(paths_to_delete(options, files, remote), (Paths{"X.mlpackage/b"}));
  options.remove = {"*.json"};
  EXPECT_EQ(paths_to_delete(options, files, remote), (Paths{"X.mlpackage/b", "old.json"}));
  options.include = {"config.json"};
  EXPECT_EQ(paths_to_delete(options, files, remote), (Paths{"old.json"}));
}

TEST_F(PushFiles, PartsOfAnotherRoundDoNotCount) {
  const PushNotes notes(folder_.path() / "notes");
  UploadAction action;
  action.part_bytes = 10;
  action.parts = {"https://h/1", "https://h/2"};
  ObjectUpload upload({{"a", "", 15, 0}, kHash}, action, notes, "h/org/name");
  const UploadPart first = *upload.next_part();
  const UploadPart second = *upload.next_part();
  EXPECT_EQ(second.end, 15U);
  EXPECT_FALSE(upload.next_part());
  EXPECT_FALSE(upload.arrive(second, "e2"));
  EXPECT_EQ(upload.arrived(), 5U);
  // Another process goes on with the part that is missing.
  ObjectUpload other({{"a", "", 15, 0}, kHash}, action, notes, "h/org/name");
  EXPECT_EQ(other.arrived(), 5U);
  EXPECT_EQ(other.next_part()->index, 0U);
  EXPECT_FALSE(other.next_part());
  upload.restart(first.round, action);
  EXPECT_FALSE(upload.is_current(first));
  EXPECT_FALSE(upload.arrive(first, "e1"));
  EXPECT_EQ(upload.arrived(), 0U);
  const UploadPart again = *upload.next_part();
  EXPECT_FALSE(upload.arrive(again, "e1"));
  EXPECT_TRUE(upload.arrive(*upload.next_part(), "e2"));
  EXPECT_EQ(upload.etags(), (Paths{"e1", "e2"}));
  upload.finish();
  EXPECT_FALSE(notes.find_parts("h/org/name", kHash));
}

}  // namespace
}  // namespace pippin::hub
