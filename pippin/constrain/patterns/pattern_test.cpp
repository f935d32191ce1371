#include "pippin/constrain/patterns/pattern.h"

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <memory>
#include <random>
#include <string>

#include <pcre2.h>

#include "pippin/base/testing.h"
#include "pippin/io/json.h"

namespace pippin::constrain {
namespace {

// PCRE2's verdict on a pattern and a text.
class Pcre2 {
 public:
  explicit Pcre2(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr));
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }
  bool is_good() const { return code_ != nullptr; }
  bool finds(const std::string& text) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                       match_.get(), nullptr) >= 0;
  }

 private:
  struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  struct FreeMatch {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, FreeCode> code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
};

class RandomPattern {
 public:
  explicit RandomPattern(uint32_t seed) : random_(seed) {}

  std::string make(int depth, bool may_look = true) {
    static const std::vector<std::string> kAtoms{"a",    "b",      "_",   " ",   "é",
                                                 "[ab]", "[^a]",   "\\d", "\\w", "\\W",
                                                 "\\s",  "[a-c_]", "\\S", "1",   "(?:)"};
    static const std::vector<std::string> kLooks{"^", "$", "\\b", "\\B"};
    static const std::vector<std::string> kTimes{"*",     "+",     "?",    "{2}",
                                                 "{1,2}", "{0,3}", "{2,}", "*?"};
    const uint32_t what = below(depth == 0 ? 2 : 9);
    if (what == 0 && may_look && below(2) == 0) return kLooks[below(4)];
    if (what <= 1) return kAtoms[below(static_cast<uint32_t>(kAtoms.size()))];
    if (what == 2) return "(" + make(depth - 1, may_look) + "|" + make(depth - 1, may_look) + ")";
    if (what == 3)
      return "(?:" + make(depth - 1, false) + ")" +
             kTimes[below(static_cast<uint32_t>(kTimes.size()))];
    if (what == 4 && may_look)
      return (below(2) == 0 ? "(?=" : "(?!") + make(depth - 1, may_look) + ")";
    if (what == 5 && may_look) return "(?:" + make(depth - 1, true) + ")?";
    return make(depth - 1, may_look) + make(depth - 1, may_look);
  }
  std::string text() {
    static const std::vector<std::string> kPieces{"a", "b", "_", " ", "é", "1", "-", "c"};
    std::string text;
    for (uint32_t n = below(6); n-- > 0;)
      text += kPieces[below(static_cast<uint32_t>(kPieces.size()))];
    return text;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::mt19937 random_;
};

TEST(Pattern, RandomPatternsFindWhatPcre2Finds) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    RandomPattern random(seed);
    const std::string source = random.make(4);
    const Pcre2 peer(source), whole_peer("^(?:" + source + ")$");
    if (!peer.is_good() || !whole_peer.is_good()) continue;
    RegexPool pool;
    const RegexId found = search_pattern(pool, source, Writing::Utf8, "p"),
                  whole = whole_pattern(pool, source, Writing::Utf8, "p");
    for (int i = 0; i < 25; ++i) {
      const std::string text = random.text();
      ASSERT_EQ(pool.matches(found, text), peer.finds(text))
          << "seed " << seed << ", /" << source << "/ in \"" << text << '"';
      ASSERT_EQ(pool.matches(whole, text), whole_peer.finds(text))
          << "seed " << seed << ", /" << source << "/ on \"" << text << '"';
      ++compared;
    }
  }
  EXPECT_GT(compared, 10'000);
}

TEST(Pattern, InJsonStringsTheSameTextsAreFound) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RandomPattern random(seed);
    const std::string source = random.make(3);
    RegexPool pool;
    const RegexId plain = search_pattern(pool, source, Writing::Utf8, "p"),
                  json = search_pattern(pool, source, Writing::JsonString, "p");
    for (int i = 0; i < 20; ++i) {
      std::string text = random.text() +
                         (i % 4 == 0   ? "\n"
                          : i % 4 == 1 ? "\"\\"
                                       : "") +
                         random.text();
      const std::string written = JsonWriter().value(text).text();
      ASSERT_EQ(pool.matches(json, std::string_view(written).substr(1, written.size() - 2)),
                pool.matches(plain, text))
          << "seed " << seed << ", /" << source << "/ in " << written;
    }
  }
}

TEST(Pattern, ReadsTheEscapesOfAllDialects) {
  RegexPool pool;
  const auto whole = [&](std::string_view source, std::string_view text) {
    return pool.matches(whole_pattern(pool, source, Writing::Utf8, "p"), text);
  };
  EXPECT_TRUE(whole("\\x41\\u0042\\u{43}\\cJ\\0", std::string_view("ABC\n\0", 5)));
  EXPECT_TRUE(whole("\\ud83d\\ude00", "\xF0\x9F\x98\x80"));
  EXPECT_TRUE(whole("(?<year>\\d{4})-(?P<m>\\d\\d)", "2026-11"));
  EXPECT_TRUE(whole("(?i)straße", "STRAßE"));
  EXPECT_TRUE(whole("a(?i:B)c", "abc"));
  EXPECT_FALSE(whole("a(?i:B)c", "abC"));
  EXPECT_TRUE(whole("\\p{Lu}\\p{Script=Greek}\\P{L}", "A\u03b11"));
  EXPECT_TRUE(whole("{a}{1,2}", "{a}}"));
  EXPECT_TRUE(whole("[\\w-]+@[-.a]+", "x-1@a.-"));
  EXPECT_TRUE(whole("[\\]\\b]\\/", "]/"));
  EXPECT_TRUE(whole("[^]", "\n"));
  EXPECT_FALSE(whole("[]", "a"));
  EXPECT_FALSE(whole(".", "\n"));
  EXPECT_TRUE(whole("(?s).", "\n"));
}

TEST(Pattern, RefusesWhatIsBrokenOrHasNoMeaningHere) {
  RegexPool pool;
  const auto whole = [&](std::string_view source) {
    whole_pattern(pool, source, Writing::Utf8, "/pattern");
  };
  EXPECT_ERROR(whole("a("), ErrorCode::InvalidArgument,
               "/pattern: the pattern is broken at byte 2: a \"(\" is not closed");
  EXPECT_ERROR(whole("a)"), ErrorCode::InvalidArgument,
               "at byte 1: there is a \")\" without a \"(\"");
  EXPECT_ERROR(whole("*"), ErrorCode::InvalidArgument, "at byte 0: there is nothing to repeat");
  EXPECT_ERROR(whole("a**"), ErrorCode::InvalidArgument, "there is nothing to repeat");
  EXPECT_ERROR(whole("[b-a]"), ErrorCode::InvalidArgument, "a range in brackets is out of order");
  EXPECT_ERROR(whole("a{3,2}"), ErrorCode::InvalidArgument,
               "a repetition's bounds are out of order");
  EXPECT_ERROR(whole("\\y"), ErrorCode::InvalidArgument, "\\y is not an escape");
  EXPECT_ERROR(whole("\\"), ErrorCode::InvalidArgument, "it ends in a backslash");
  EXPECT_ERROR(whole("(a)\\1"), ErrorCode::Unsupported,
               "/pattern: in the pattern, at byte 3, backreferences are not supported");
  EXPECT_ERROR(whole("(?<=a)b"), ErrorCode::Unsupported, "lookbehind is not supported");
  EXPECT_ERROR(whole("a++"), ErrorCode::Unsupported, "possessive quantifiers are not supported");
  EXPECT_ERROR(whole("(?:^a)*"), ErrorCode::Unsupported, "is not supported");
  EXPECT_ERROR(whole("\\p{Nonsense}"), ErrorCode::InvalidArgument,
               "\"Nonsense\" is not a property of characters");
  EXPECT_ERROR(whole(std::string(10'000, '(')), ErrorCode::LimitExceeded,
               "the pattern is nested more than 500 deep");
}

TEST(Pattern, WhatTakesOthersForEverIsQuick) {
  RegexPool pool;
  const RegexId nested = whole_pattern(pool, "(a+)+b", Writing::Utf8, "p");
  EXPECT_FALSE(pool.matches(nested, std::string(10'000, 'a')));
  const RegexId counted = whole_pattern(pool, "(?:a{1000}){1000}", Writing::Utf8, "p");
  EXPECT_FALSE(pool.matches(counted, std::string(5'000, 'a')));
  const RegexId alternatives = whole_pattern(pool, "(a|aa|a?)*c", Writing::Utf8, "p");
  EXPECT_TRUE(pool.matches(alternatives, std::string(1'000, 'a') + "c"));
}

}  // namespace
}  // namespace pippin::constrain
