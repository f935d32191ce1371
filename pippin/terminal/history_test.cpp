#include "pippin/terminal/history.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::terminal {
namespace {

using Texts = std::vector<std::string>;

TEST(History, IsThereTheNextTime) {
  const TempDir folder;
  const auto file = folder / "state" / "history";
  {
    History history(file);
    history.add("one");
    history.add("two\nlines \\n");
    history.add("two\nlines \\n");  // repeated
    history.add("");
    history.set_on(false);
    history.add("secret");
    EXPECT_EQ(history.notice(), "");
  }
  EXPECT_EQ(History(file).entries(), (Texts{"one", "two\nlines \\n"}));
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(History, OthersMayNotReadAnOldFileEither) {
  const TempDir folder;
  write_file(folder / "history", "old\n");
  ASSERT_EQ(::chmod((folder / "history").c_str(), 0644), 0);
  History(folder / "history").add("new");
  struct stat info {};
  ASSERT_EQ(::stat((folder / "history").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(History, DamageCostsOnlyWhatIsDamaged) {
  const TempDir folder;
  write_file(folder / "history", std::string("good\n\xFF\xFE\n\n") + std::string(300'000, 'x') +
                                     "\nalso\\ngood\ncut\\");
  EXPECT_EQ(History(folder / "history").entries(), (Texts{"good", "also\ngood", "cut\\"}));
}

TEST(History, AHugeFileIsCut) {
  const TempDir folder;
  std::string line(999, 'y'), content;
  for (int i = 0; i < 9000; ++i) content += line + "\n";
  write_file(folder / "history", content + "last\n");
  const History history(folder / "history");
  EXPECT_EQ(history.entries().size(), 1000u);
  EXPECT_EQ(history.entries().back(), "last");
  EXPECT_LT(std::filesystem::file_size(folder / "history"), 2'000'000u);
}

TEST(History, WhatCannotBeWrittenIsSaid) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "history");
  History history(folder / "history");
  EXPECT_NE(history.notice().find("history is not kept"), std::string::npos);
  history.add("kept for this chat");
  EXPECT_EQ(history.entries(), Texts{"kept for this chat"});
  write_file(folder / "file", "");
  History below(folder / "file" / "history");
  below.add("x");
  EXPECT_NE(below.notice().find("history is not kept"), std::string::npos);
}

}  // namespace
}  // namespace pippin::terminal
