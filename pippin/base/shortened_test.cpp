#include "pippin/base/shortened.h"

#include <string>

#include <gtest/gtest.h>

namespace pippin {
namespace {

TEST(Shortened, KeepsShortTexts) {
  EXPECT_EQ(shortened(""), "");
  const std::string fits(80, 'a');
  EXPECT_EQ(shortened(fits), fits);
  EXPECT_EQ(shortened(fits + "b"), fits + "...");
  EXPECT_EQ(shortened("abc", 2), "ab...");
}

TEST(Shortened, CutsBetweenCharacters) {
  const std::string euros = "\u20AC\u20AC\u20AC";  // of three bytes
  EXPECT_EQ(shortened(euros, 9), euros);
  for (const size_t most : {6, 7, 8}) EXPECT_EQ(shortened(euros, most), "\u20AC\u20AC...") << most;
  EXPECT_EQ(shortened(euros, 2), "...");
  EXPECT_EQ(shortened("\xFF\xFF\xFF", 2), "\xFF\xFF...");  // is not UTF-8
}

}  // namespace
}  // namespace pippin
