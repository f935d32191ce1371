#include "pippin/tokenizers/regex/regex.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/tokenizers/pattern.h"
#include "pippin/tokenizers/regex/regex_syntax.h"
#include "pippin/tokenizers/unicode/unicode.h"

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
  // U+180E was once a space; Oniguruma and PCRE2 disagree about it.
  EXPECT_EQ(matches(R"(\s)", "\xE1\xA0\x8E"), Strings{});
  EXPECT_EQ(matches(R"(\S)", "\xE1\xA0\x8E"), Strings{"\xE1\xA0\x8E"});
  EXPECT_EQ(matches(R"([\S])", "\xE1\xA0\x8E"), Strings{"\xE1\xA0\x8E"});
}

TEST(Regex, WordsHaveMarks) {
  EXPECT_EQ(matches(R"(\w+)", "e\xCC\x81t!"), Strings{"e\xCC\x81t"});
  EXPECT_EQ(matches(R"(\b\p{L}+\b)", "one two"), (Strings{"one", "two"}));
}

// The numbers of Latin-1 are parts of words outside brackets, but not inside.
TEST(Regex, FractionsAndSuperscriptsAreWordsOutsideOfBrackets) {
  EXPECT_EQ(matches(R"(\w+)", "4½m x² ⅓"), (Strings{"4½m", "x²"}));
  EXPECT_EQ(matches(R"(\p{Word}+)", "4½m"), Strings{"4½m"});
  EXPECT_EQ(matches(R"([\w]+)", "4½m x²"), (Strings{"4", "m", "x"}));
  EXPECT_EQ(matches(R"(\W+)", "4 ½ m"), (Strings{" ", " "}));
  EXPECT_EQ(matches(R"([\W]+)", "4 ½ m"), Strings{" ½ "});
  EXPECT_EQ(matches(R"(\b.)", "4 ½m"), (Strings{"4", " ", "½"}));
  EXPECT_EQ(matches(R"(\B.)", "½m!?"), (Strings{"m", "?"}));
}

TEST(Regex, SetsInsideSetsAreUnions) {
  EXPECT_EQ(matches(R"([^(\s|[.,!])]+)", "ab.cd e"), (Strings{"ab", "cd", "e"}));
  EXPECT_EQ(matches(R"([[a]-z]+)", "abz-"), (Strings{"a", "z-"}));
  EXPECT_EQ(matches(R"([a[^b]])", "abc"), (Strings{"a", "c"}));
}

TEST(Regex, SetsIntersect) {
  EXPECT_EQ(matches(R"([a-z&&[^aeiou]]+)", "strength and"), (Strings{"str", "ngth", "nd"}));
  EXPECT_EQ(matches(R"([a-w&&[^c-g]z]+)", "abcdhiwz"), (Strings{"ab", "hiw"}));
  EXPECT_EQ(matches(R"([^a-z&&aeiou]+)", "abeb1"), (Strings{"b", "b1"}));
  EXPECT_EQ(matches(R"([\w&&[^\d_]]+)", "ab_12c"), (Strings{"ab", "c"}));
  EXPECT_EQ(matches(R"([\W_]+)", "a_-b"), Strings{"_-"});
  EXPECT_EQ(matches("[a&&b]", "ab"), Strings{});
  EXPECT_EQ(matches("[a&&]", "ab"), Strings{});
  // From a published tokenizer.
  const char* words = R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
                      R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+|\p{N}{1,3})";
  EXPECT_EQ(matches(words, "Hello世界ひらaб12"), (Strings{"Hello", "世界", "ひらaб", "12"}));
}

TEST(Regex, NamesInBrackets) {
  EXPECT_EQ(matches("[[:alpha:]]+", "aé中²1"), Strings{"aé中"});
  EXPECT_EQ(matches("[[:^alpha:]]+", "aé中²1"), Strings{"²1"});
  EXPECT_EQ(matches("[[:alpha:][:digit:]_]+", "a1_-"), Strings{"a1_"});
  EXPECT_EQ(matches("[[:punct:]]+", "a$+<!中、"), (Strings{"$+<!", "、"}));
  EXPECT_EQ(matches(R"(\p{Punct}+)", "a$+<!中、"), (Strings{"!", "、"}));
  EXPECT_EQ(matches("[[:space:]]+", "a\xC2\x85 b"), Strings{"\xC2\x85 "});
  EXPECT_EQ(matches("[[:alpha]]", "a:"), (Strings{"a", ":"}));  // a nested set
}

TEST(Regex, PropertiesByAllTheirNames) {
  EXPECT_EQ(matches(R"(\p{Alnum}+)", "a1-"), Strings{"a1"});
  EXPECT_EQ(matches(R"(\p{Emoji}+)", "1😀a"), Strings{"1😀"});
  EXPECT_EQ(matches(R"(\p{InCyrillic}+)", "aЖ҂"), Strings{"Ж҂"});
  EXPECT_EQ(matches(R"(\p{in_basic latin}+)", "aЖ"), Strings{"a"});
  EXPECT_EQ(matches(R"(\p{Cs})", "a"), Strings{});
  EXPECT_EQ(matches(R"(\p{^Lu}+|\P{^Lu})", "aB"), (Strings{"a", "B"}));
  EXPECT_EQ(matches(R"(\p{Cased_Letter}+)", "aBǅ中"), Strings{"aBǅ"});
  EXPECT_EQ(matches(R"(\pL)", "pL L"), Strings{"pL"});  // only a property with braces
}

TEST(Regex, EscapesOfOniguruma) {
  EXPECT_EQ(matches(R"(\h+)", "xFa9 g"), Strings{"Fa9"});
  EXPECT_EQ(matches(R"(\H+)", "xFa9 g"), (Strings{"x", " g"}));
  EXPECT_EQ(matches(R"(\R)", "a\r\nb\nc\xE2\x80\xA8"), (Strings{"\r\n", "\n", "\xE2\x80\xA8"}));
  EXPECT_EQ(matches(R"(\R\n)", "\r\n"), Strings{});
  EXPECT_EQ(matches(R"(\N+|\O)", "a\n"), (Strings{"a", "\n"}));
  EXPECT_EQ(matches(R"(\101\x42\x{43}\u0044\o{105})", "ABCDE"), Strings{"ABCDE"});
  EXPECT_EQ(matches(R"(\303\251|\xE4\xB8\xAD)", "é中"), (Strings{"é", "中"}));
  EXPECT_EQ(matches(R"([\303\251-\u00ff])", "éÿĀ"), (Strings{"é", "ÿ"}));
  EXPECT_EQ(matches(R"([]a]+)", "a]b"), Strings{"a]"});
  EXPECT_EQ(matches(R"([^]a])", "a]b"), Strings{"b"});
  EXPECT_EQ(matches(R"([\b\v]|\ci|\C-j)", "\b\v\t\n"), (Strings{"\b", "\v", "\t", "\n"}));
  EXPECT_EQ(matches(R"((?<word>\p{L})\k<word>|(?:a))", "bbca"), (Strings{"bb", "a"}));
  EXPECT_EQ(matches(R"((\d)\1)", "1223"), Strings{"22"});
}

TEST(Regex, ClustersAreWhole) {
  EXPECT_EQ(matches(R"(\X)", "e\xCC\x81👍🏽😀👩‍👧🇩🇪🇫한\r\n"),
            (Strings{"e\xCC\x81", "👍🏽", "😀", "👩‍👧", "🇩🇪", "🇫", "한", "\r\n"}));
}

TEST(Regex, RepeatsOfOniguruma) {
  EXPECT_EQ(matches("a{2}+", "aaaaa"), Strings{"aaaa"});
  EXPECT_EQ(matches("ba{2}?", "baab"), (Strings{"baa", "b"}));
  EXPECT_EQ(matches("a{,2}b", "aaab"), Strings{"aab"});
  EXPECT_EQ(matches("a{3,1}a", "aaaa"), Strings{"aaaa"});
  EXPECT_EQ(matches("a{3,1}a", "aaa"), Strings{});  // possessive
  EXPECT_EQ(matches("a{,}|x{", "a{,}x{"), (Strings{"a{,}", "x{"}));
  EXPECT_EQ(matches("ab**c", "abbc"), Strings{"abbc"});
}

TEST(Regex, OptionsOfOniguruma) {
  EXPECT_EQ(matches("(?m:.)+", "a\nb"), Strings{"a\nb"});
  EXPECT_EQ(matches("a(?i)b|c", "aCaBab"), (Strings{"aC", "aB", "ab"}));  // to the end of the group
  EXPECT_EQ(matches("(?x) a b # c\n c", "abc"), Strings{"abc"});
  EXPECT_EQ(matches(R"((?W:\w+)|(?D)\d)", "aé1"), (Strings{"a", "1"}));
  EXPECT_EQ(matches("a(?#b)*", "aa"), Strings{"aa"});
}

// Case folding maps several characters to one, and one to several.
TEST(Regex, CaseIsFolded) {
  EXPECT_EQ(matches("(?i:ss)", "ß ẞ Sſ s"), (Strings{"ß", "ẞ", "Sſ"}));
  EXPECT_EQ(matches("(?i:s(?:s))", "ß"), Strings{"ß"});
  EXPECT_EQ(matches("(?i:s)s|(?i:ss+)", "ß ss"), Strings{"ss"});
  EXPECT_EQ(matches("(?i:ß)", "SS ẞ"), (Strings{"SS", "ẞ"}));
  EXPECT_EQ(matches("(?i:[ß])", "ss ß"), (Strings{"ss", "ß"}));
  EXPECT_EQ(matches("(?i:ﬃ)", "ffi ﬃ ﬀi"), (Strings{"ffi", "ﬃ"}));
  EXPECT_EQ(matches("(?i:ΐ)", "ΐ"), Strings{"ΐ"});  // U+1FD3, U+0390
  // Classes in brackets are folded; properties outside brackets are not.
  EXPECT_EQ(matches(R"((?i:[\p{Lu}]+))", "aB"), Strings{"aB"});
  EXPECT_EQ(matches(R"((?i:\p{Lu}+))", "aB"), Strings{"B"});
  EXPECT_EQ(matches("(?i:[^a]+)", "aAb"), Strings{"b"});
  EXPECT_EQ(matches("(?i:[sdmt]|ll)", "ſLlK"), (Strings{"ſ", "Ll"}));
}

TEST(Regex, EmptyMatchesAdvance) {
  EXPECT_EQ(matches("", "ab").size(), 3u);
  EXPECT_EQ(matches("x*", "axx\xC3\xA9"), (Strings{"", "xx", ""}));
}

TEST(Regex, ScriptsAreExact) {
  // U+30FC has Hiragana in its Script_Extensions; its script is Common.
  EXPECT_EQ(matches(R"(\p{Hiragana})", "\xE3\x81\x82\xE3\x83\xBC"), Strings{"\xE3\x81\x82"});
  EXPECT_EQ(matches(R"(\p{Letter}+)", "a1"), Strings{"a"});
}

TEST(Regex, WhatMeansSomethingElseIsRefused) {
  for (const char* pattern : {"(*ACCEPT)",
                              "(?|a)",
                              "(?~a)",
                              "(?{a})",
                              "(?(1)a)",
                              "(?y{w})",
                              "[",
                              "[]",
                              "[^]",
                              "(",
                              ")",
                              R"(\)",
                              R"(\xFF)",
                              R"(\xE4\xB8)",
                              R"(\x{110000})",
                              R"(\ud800)",
                              R"(\x{41 42})",
                              R"(\u12)",
                              "[a-[b]]",
                              R"([\w-a])",
                              R"([a-\w])",
                              "[b-a]",
                              "[[:foo:]]",
                              R"(\p{Foo})",
                              R"(\p{Xan})",
                              R"(\p{L)",
                              R"(\p{L|N})",
                              R"(\y)",
                              R"(\g<1>)",
                              R"((a)\2)",
                              R"((?i:(a)\1))",
                              R"(\k<a)",
                              R"((?<n>a)(b)\1)",
                              "*a",
                              "^*",
                              R"(\b+)",
                              "(?=a)*",
                              "(?:^)?",
                              "a{100000}",
                              "(?<=a+)",
                              R"(\C)",
                              "(?s:a)",
                              "(?i",
                              R"((?<a b>c))"}) {
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
  EXPECT_ERROR(regex.find_all(std::string(200, 'a') + "cb"), ErrorCode::LimitExceeded,
               "failed on 202 bytes of text: match limit exceeded");
}

// A short pattern may expand to a long one; both size and time are limited.
TEST(Regex, SetsDoNotGrowWithoutBound) {
  for (const char* part : {R"((?i:[\p{L}]))", R"([\W_])", R"([\w&&[^\d]])", R"(\X)", R"(\b)"}) {
    std::string pattern;
    while (pattern.size() < 50'000) pattern += part;
    EXPECT_ERROR(Regex(pattern, "test"), ErrorCode::Unsupported, "becomes too large");
  }
  EXPECT_ERROR(Regex(std::string(300, '(') + std::string(300, ')'), "test"), ErrorCode::Unsupported,
               "a group nested that deep");
  EXPECT_ERROR(Regex(std::string(300, '[') + "a" + std::string(300, ']'), "test"),
               ErrorCode::Unsupported, "a class nested that deep");
}

TEST(Regex, NoPlaceIsSkipped) {
  EXPECT_EQ(matches(R"((?>\P{Ll}+?1?+){2}\P{Nd}{2}[^\n])", "ς中]한\r\n9é"), Strings{"]한\r\n9"});
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
  // A truncated three-byte character is one replacement; a surrogate's bytes are three.
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
