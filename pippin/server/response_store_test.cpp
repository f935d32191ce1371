#include "pippin/server/response_store.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ResponseStore, ForgetsTheLongestUnused) {
  ResponseStore store({.limit = 30});
  store.put("a", std::string(10, 'a'));
  store.put("b", std::string(10, 'b'));
  store.put("c", std::string(10, 'c'));
  EXPECT_EQ(store.get("a"), std::string(10, 'a'));
  store.put("d", std::string(10, 'd'));
  EXPECT_FALSE(store.get("b"));
  EXPECT_TRUE(store.get("a") && store.get("c") && store.get("d"));
  // A replaced response, and one that is larger than the limit.
  store.put("a", std::string(5, 'A'));
  EXPECT_EQ(store.get("a"), "AAAAA");
  store.put("e", std::string(31, 'e'));
  EXPECT_FALSE(store.get("e"));
  EXPECT_FALSE(store.remove("e"));
}

TEST(ResponseStore, RemovesAndKeepsNothingWithoutRoom) {
  ResponseStore store({.limit = 100});
  store.put("a", "text");
  EXPECT_TRUE(store.remove("a"));
  EXPECT_FALSE(store.remove("a"));
  EXPECT_FALSE(store.get("a"));
  ResponseStore none({.limit = 0});
  EXPECT_FALSE(none.keeps());
  none.put("a", "text");
  EXPECT_FALSE(none.get("a"));
}

TEST(ResponseStore, FindsInItsFolderWhatAnotherWrote) {
  const TempDir folder;
  {
    ResponseStore store({.limit = 100, .folder = folder.path()});
    store.put("resp_1", "one");
    store.put("resp_2", "two");
  }
  EXPECT_EQ(fs::status(folder.path() / "responses").permissions(), fs::perms::owner_all);
  ResponseStore store({.limit = 100, .folder = folder.path()});
  EXPECT_EQ(store.get("resp_1"), "one");
  EXPECT_TRUE(store.remove("resp_1"));
  EXPECT_FALSE(store.get("resp_1"));
  EXPECT_FALSE(store.remove("resp_1"));
  EXPECT_EQ(store.get("resp_2"), "two");
}

TEST(ResponseStore, KeepsItsFolderWithinTheLimit) {
  const TempDir folder;
  {
    ResponseStore store({.limit = 100, .folder = folder.path()});
    for (int i = 0; i < 40; ++i) store.put("r" + std::to_string(i), std::string(10, 'x'));
  }
  EXPECT_LE(files_in(folder.path() / "responses"), 10U);
  EXPECT_GE(files_in(folder.path() / "responses"), 9U);
  // A later start with less room.
  ResponseStore store({.limit = 30, .folder = folder.path()});
  EXPECT_LE(files_in(folder.path() / "responses"), 3U);
  EXPECT_TRUE(store.get("r39"));
}

TEST(ResponseStore, TakesNoPathsForIds) {
  const TempDir folder;
  std::ofstream(folder.path() / "secret.json") << "secret";
  ResponseStore store({.limit = 100, .folder = folder.path()});
  for (const char* id : {"../secret", "", ".", "a/b", "a.b", "a%2e"}) {
    EXPECT_FALSE(store.get(id)) << id;
    EXPECT_FALSE(store.remove(id)) << id;
  }
  EXPECT_FALSE(store.get(std::string(129, 'a')));
  EXPECT_TRUE(fs::exists(folder.path() / "secret.json"));
}

}  // namespace
}  // namespace pippin::server
