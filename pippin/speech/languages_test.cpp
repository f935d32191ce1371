#include "pippin/speech/languages.h"

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

TEST(Languages, AreFoundByCodeAndName) {
  EXPECT_EQ(all_languages().size(), 100U);
  EXPECT_EQ(find_language("de"), "de");
  EXPECT_EQ(find_language("German"), "de");
  EXPECT_EQ(find_language("Haitian Creole"), "ht");
  EXPECT_EQ(find_language("castilian"), "es");
  EXPECT_EQ(find_language("Klingon"), std::nullopt);
  EXPECT_EQ(language_name("yue"), "cantonese");
  EXPECT_EQ(language_name("xx"), "xx");
  EXPECT_TRUE(has_no_spaces("th"));
  EXPECT_FALSE(has_no_spaces("en"));
}

}  // namespace
}  // namespace pippin::speech
