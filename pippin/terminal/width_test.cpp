#include "pippin/terminal/width.h"

#include <gtest/gtest.h>

namespace pippin::terminal {
namespace {

int columns(std::string_view text) {
  const Cluster cluster = cluster_at(text, 0);
  EXPECT_EQ(cluster.size, text.size()) << text;
  return cluster.columns;
}

TEST(Width, OfCharactersAsReadersSeeThem) {
  EXPECT_EQ(columns("a"), 1);
  EXPECT_EQ(columns("é"), 1);
  EXPECT_EQ(columns("e\xCC\x81"), 1);  // e with an accent
  EXPECT_EQ(columns("漢"), 2);
  EXPECT_EQ(columns("한"), 2);
  EXPECT_EQ(columns("👍🏽"), 2);
  EXPECT_EQ(columns("👩‍👩‍👧‍👦"), 2);  // a family, of seven code points
  EXPECT_EQ(columns("🇩🇪"), 2);
  EXPECT_EQ(columns("❤️"), 2);
  EXPECT_EQ(columns("\xCC\x81"), 0);  // an accent alone
}

TEST(Width, ClustersBothWays) {
  const std::string text = "aé漢👍🏽\n🇩🇪e\xCC\x81z";
  std::vector<size_t> forward, backward;
  for (size_t at = 0; at < text.size(); at += cluster_at(text, at).size) forward.push_back(at);
  for (size_t at = text.size(); at > 0;) {
    at = cluster_before(text, at);
    backward.insert(backward.begin(), at);
  }
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward.size(), 8u);
}

TEST(Width, MarksWithoutEndAreCut) {
  std::string text = "a";
  for (int i = 0; i < 10'000; ++i) text += "\xCC\x81";
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = cluster_at(text, at).size;
    ASSERT_LT(size, 100u);
    at += size;
  }
  EXPECT_GT(cluster_before(text, text.size()), text.size() - 100);
}

TEST(Width, NothingMovesTheTerminal) {
  EXPECT_EQ(shown("\x1B", true).text, "^[");
  EXPECT_EQ(shown("\x07", true).text, "^G");
  EXPECT_EQ(shown("\x7F", true).text, "^?");
  EXPECT_EQ(shown("\xC2\x9B", true).text, "<9B>");        // CSI as one character
  EXPECT_EQ(shown("\xE2\x80\xAE", true).text, "<202E>");  // right-to-left override
  EXPECT_EQ(shown("\xFF", true).text, "\xEF\xBF\xBD");
  EXPECT_EQ(shown("漢", false).text, "?");
  EXPECT_EQ(shown("漢", false).columns, 1);
  EXPECT_EQ(shown("漢", true).columns, 2);
}

}  // namespace
}  // namespace pippin::terminal
