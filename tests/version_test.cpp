// The commit in `pippin --version`: where cmake/commit.cmake finds it.

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// A folder with the sources that commit.cmake reads; the space is part of the test.
class Sources {
 public:
  Sources() {
    fs::create_directories(root() / "cmake");
    fs::copy_file(source_dir() / "cmake/commit.txt", root() / "cmake/commit.txt");
  }

  fs::path root() const { return folder_ / "some sources"; }
  fs::path output() const { return folder_ / "commit.cpp"; }

  void git(std::vector<std::string> arguments, const fs::path& folder) {
    arguments.insert(arguments.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    const auto result = run_process(arguments, {.folder = folder.string()});
    ASSERT_EQ(result.status, 0) << result.err;
  }

  void commit(const fs::path& folder) {
    git({"init", "-q"}, folder);
    git({"add", "-A"}, folder);
    git({"commit", "-q", "-m", "all"}, folder);
  }

  // Runs the script, and returns the commit that it writes.
  std::string found() {
    const auto result =
        run_process({PIPPIN_CMAKE, "-DSOURCE=" + root().string(), "-DOUTPUT=" + output().string(),
                     "-P", (source_dir() / "cmake/commit.cmake").string()});
    EXPECT_EQ(result.status, 0) << result.err;
    std::smatch match;
    const std::string text = read_file(output());
    return std::regex_search(text, match, std::regex("return \"(.*)\";")) ? match[1].str() : text;
  }

  fs::path top() const { return folder_.path(); }

 private:
  TempDir folder_;
};

bool is_hash(const std::string& text) {
  return std::regex_match(text, std::regex("[0-9a-f]{8,}"));
}

TEST(Version, NamesACommit) {
  const auto result = run_pippin({"--version"});
  EXPECT_TRUE(std::regex_search(
      result.out, std::regex("^pippin \\d+\\.\\d+\\.\\d+ \\(([0-9a-f]{7,}(-dirty)?|unknown)\\)\n")))
      << result.out;
}

TEST(Version, SourcesWithoutARepositoryHaveNoCommit) {
  EXPECT_EQ(Sources().found(), "unknown");
}

TEST(Version, ArchivesHaveTheirs) {
  Sources sources;
  write_file(sources.root() / "cmake/commit.txt", "0123abcd\n");
  EXPECT_EQ(sources.found(), "0123abcd");
}

TEST(Version, RepositoriesHaveTheirs) {
  Sources sources;
  sources.commit(sources.root());
  const std::string clean = sources.found();
  EXPECT_TRUE(is_hash(clean)) << clean;
  write_file(sources.root() / "new.cpp", "");
  EXPECT_EQ(sources.found(), clean) << "a file that is not in the repository";
  write_file(sources.root() / "cmake/commit.txt", "other");
  EXPECT_EQ(sources.found(), clean + "-dirty");
}

TEST(Version, TheRepositoryAroundIsAnother) {
  Sources sources;
  sources.commit(sources.top());
  EXPECT_EQ(sources.found(), "unknown");
}

TEST(Version, TheSameCommitCompilesNothing) {
  Sources sources;
  sources.commit(sources.root());
  sources.found();
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(sources.output(), past);
  const auto written = fs::last_write_time(sources.output());
  sources.found();
  EXPECT_EQ(fs::last_write_time(sources.output()), written);
  write_file(sources.root() / "cmake/commit.txt", "other");
  sources.found();
  EXPECT_NE(fs::last_write_time(sources.output()), written);
}

// GitHub builds its source archives this way.
TEST(Version, GitArchivePutsTheCommitIntoItsFile) {
  Sources sources;
  fs::copy_file(source_dir() / ".gitattributes", sources.root() / ".gitattributes");
  sources.commit(sources.root());
  const std::string commit = sources.found();
  sources.git({"archive", "-o", "../archive.tar", "HEAD"}, sources.root());
  fs::remove_all(sources.root());
  fs::create_directories(sources.root());
  ASSERT_EQ(run_process({"tar", "-xf", (sources.top() / "archive.tar").string(), "-C",
                         sources.root().string()})
                .status,
            0);
  const std::string archived = sources.found();
  EXPECT_TRUE(commit.starts_with(archived) && archived.size() >= 7) << archived;
}

}  // namespace
}  // namespace pippin
