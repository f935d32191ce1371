#include "pippin/tokenizers/regex.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/tokenizers/pattern.h"
#include "pippin/tokenizers/regex_syntax.h"
#include "pippin/tokenizers/unicode.h"

namespace pippin::tokenizers {
namespace {

std::vector<std::string> matches(const char* pattern, std::string_view text) {
  std::vector<std::string> result;
  for (const auto& range : Regex(pattern, "test").find_all(text)) {
    result.emplace_back(text.substr(range.begin, range.end - range.begin));
  }
  return result;
}

using Strings = std::vector<std::string>;

TEST(Regex, SpaceIsUnicodeWhiteSpace) {
  EXPECT_EQ(matches(R"(\s+)", "a \xC2\x85\xE2\x80\x83z"), Strings{" \xC2\x85\xE2\x80\x83"});
  // U+180E was a space once; Oniguruma and PCRE2 disagree about it.
  EXPECT_EQ(matches(R"(\s)", "\xE1\xA0\x8E"), Strings{});
  EXPECT_EQ(matches(R"(\S)", "\xE1\xA0\x8E"), Strings{"\xE1\xA0\x8E"});
  EXPECT_EQ(matches(R"([\S])", "\xE1\xA0\x8E"), Strings{"\xE1\xA0\x8E"});
}

TEST(Regex, WordsHaveMarks) {
  EXPECT_EQ(matches(R"(\w+)", "e\xCC\x81t\xC2\xBD"), Strings{"e\xCC\x81t"});
  EXPECT_EQ(matches(R"(\b\p{L}+\b)", "one two"), (Strings{"one", "two"}));
}

TEST(Regex, SetsInsideSetsAreUnions) {
  EXPECT_EQ(matches(R"([^(\s|[.,!])]+)", "ab.cd e"), (Strings{"ab", "cd", "e"}));
}

TEST(Regex, EmptyMatchesAdvance) {
  EXPECT_EQ(matches("", "ab").size(), 3u);
  EXPECT_EQ(matches("x*", "axx\xC3\xA9"), (Strings{"", "xx", ""}));
}

TEST(Regex, ScriptsAreExact) {
  // Script_Extensions of U+30FC has Hiragana; its script is Common.
  EXPECT_EQ(matches(R"(\p{Hiragana})", "\xE3\x81\x82\xE3\x83\xBC"), Strings{"\xE3\x81\x82"});
  EXPECT_EQ(matches(R"(\p{Letter}+)", "a1"), Strings{"a"});
}

TEST(Regex, WhatMeansSomethingElseIsRefused) {
  for (const char* pattern :
       {R"(\h)", "(?m:.)", "a{2}+", "a{2}?", R"([\w&&a])", R"([[:alpha:]])", "(*ACCEPT)", R"(\X)",
        R"(\p{Emoji})", "(?|a)", "[", "(", R"(\)", R"(\xFF)", "[[a]-z]", "(?~a)", R"(\pL)"}) {
    try {
      const Regex regex(pattern, "place");
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported) << pattern;
      EXPECT_TRUE(std::string(error.what()).starts_with("place: ")) << error.what();
    }
  }
}

TEST(Regex, RunawayPatternsStop) {
  const Regex regex("(a+)+b", "test");
  EXPECT_THROW(regex.find_all(std::string(200, 'a') + "cb"), Error);
}

TEST(Regex, LongRunsAreFine) {
  const Regex regex(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", "test");
  EXPECT_EQ(regex.find_all(std::string(1 << 20, ' ') + "x").size(), 2u);
}

TEST(Pattern, Behaviors) {
  const std::string text = "the-final--countdown";
  const auto found = segments(Regex("-", "test").find_all(text), text);
  const auto parts = [&](SplitBehavior behavior) {
    Strings result;
    for (const auto& range : apply_behavior(found, behavior)) {
      result.push_back(text.substr(range.begin, range.end - range.begin));
    }
    return result;
  };
  EXPECT_EQ(parts(SplitBehavior::Removed), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(parts(SplitBehavior::Isolated), (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(parts(SplitBehavior::MergedWithPrevious),
            (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(parts(SplitBehavior::MergedWithNext), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(parts(SplitBehavior::Contiguous), (Strings{"the", "-", "final", "--", "countdown"}));
}

TEST(Unicode, LossyReplacesMaximalParts) {
  std::string out;
  // A cut-off three-byte character is one replacement; a surrogate's bytes are three.
  append_utf8_lossy(out, "a\xE2\x82z\xED\xA0\x80", true);
  EXPECT_EQ(out, "a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  out.clear();
  EXPECT_EQ(append_utf8_lossy(out, "b\xE2\x82", false), 1u);
  EXPECT_EQ(out, "b");
}

TEST(Unicode, Forms) {
  EXPECT_EQ(normal_form("e\xCC\x81", NormalForm::Nfc), "\xC3\xA9");
  EXPECT_EQ(normal_form("\xC3\xA9", NormalForm::Nfd), "e\xCC\x81");
  EXPECT_EQ(normal_form("\xEF\xAC\x81", NormalForm::Nfkc), "fi");
  EXPECT_EQ(lowercase("\xC4\xB0X\xCE\xA3"), "i\xCC\x87x\xCF\x83");
}

}  // namespace
}  // namespace pippin::tokenizers
