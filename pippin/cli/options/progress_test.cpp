#include "pippin/cli/options/progress.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"

namespace pippin::cli {
namespace {

TEST(Progress, Durations) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(7.4), "0:07");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(1e9), "?");
  EXPECT_EQ(format_duration(0.0 / 0.0), "?");
}

TEST(Progress, TheBarCountsFromWhereItBegan) {
  const TempDir folder;
  const std::string path = (folder / "out").string();
  std::FILE* out = std::fopen(path.c_str(), "w");
  ASSERT_NE(out, nullptr);
  {
    Progress bar("Name", Progress::Style::Bar, out);
    bar.update(900, 1000);
    bar.print_line("a notice");
    bar.update(1000, 1000);
  }
  std::fclose(out);
  const std::string text = read_file(path);
  EXPECT_NE(text.find("900 B / 1.0 KB  0 B/s  ?"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\033[Ka notice\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(Progress, DrawsBarsAndNothingForTheQuick) {
  EXPECT_EQ(progress_bar(0.0, 4), "[>   ]");
  EXPECT_EQ(progress_bar(0.5, 4), "[==> ]");
  EXPECT_EQ(progress_bar(1.0, 4), "[====]");

  std::FILE* out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  {
    Progress lines("Converting", Progress::Style::Lines, out);
    for (uint64_t done = 0; done <= 100; ++done) lines.update(done, 100);
  }
  EXPECT_EQ(std::ftell(out), 0);
  {
    Progress bar("Converting", Progress::Style::Bar, out);
    bar.update(50, 100);
  }
  EXPECT_GT(std::ftell(out), 0);
  std::fclose(out);
}

}  // namespace
}  // namespace pippin::cli
