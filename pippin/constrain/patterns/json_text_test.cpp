#include "pippin/constrain/patterns/json_text.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/constrain/patterns/digit_boxes.h"
#include "pippin/io/json.h"

namespace pippin::constrain {
namespace {

TEST(DigitBoxes, HaveEachNumberOnce) {
  for (uint64_t first = 0; first < 130; first += 7) {
    for (uint64_t last = first; last < 200; last += 3) {
      std::vector<int> seen(1000);
      for (const DigitBox& box : digit_boxes(first, last, 3, 6)) {
        for (uint32_t a = box[0].first; a <= box[0].second; ++a) {
          for (uint32_t b = box[1].first; b <= box[1].second; ++b) {
            for (uint32_t c = box[2].first; c <= box[2].second; ++c) ++seen[a * 36 + b * 6 + c];
          }
        }
      }
      for (uint64_t n = 0; n < seen.size(); ++n)
        ASSERT_EQ(seen[n], n >= first && n <= last ? 1 : 0) << first << ' ' << last << ' ' << n;
    }
  }
}

std::string utf8(char32_t c) {
  const std::string escaped = [&] {
    const auto hex = [](char32_t unit) {
      static const char* digits = "0123456789abcdef";
      std::string text = "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) text += digits[(unit >> shift) & 15];
      return text;
    };
    if (c < 0x10000) return hex(c);
    return hex(0xD800 + ((c - 0x10000) >> 10)) + hex(0xDC00 + ((c - 0x10000) & 0x3FF));
  }();
  return std::string(Json::parse('"' + escaped + '"', "c").as_string());
}

// Compares every spelling of every character with the project's own JSON reader.
TEST(JsonText, AllSpellingsOfACharacterAreItsOwn) {
  RegexPool pool;
  const RegexId any = json_string_content(pool), raw = any_text(pool, Writing::Utf8);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    char32_t c = i < 200 ? static_cast<char32_t>(i) : static_cast<char32_t>(random() % 0x110000);
    if (c >= 0xD800 && c < 0xE000) continue;
    const std::string text = utf8(c);
    const std::string written = JsonWriter().value(text).text();
    const std::string content = written.substr(1, written.size() - 2);
    const RegexId exact = json_string_content(pool, text);
    ASSERT_TRUE(pool.matches(raw, text)) << static_cast<uint32_t>(c);
    ASSERT_TRUE(pool.matches(any, content)) << content;
    ASSERT_TRUE(pool.matches(exact, content)) << content;
    const RegexId other = json_string_content(pool, utf8(c == 'x' ? 'y' : 'x'));
    ASSERT_FALSE(pool.matches(other, content) && c != 'x') << content;
  }
}

TEST(JsonText, SpellingsAreReadAsTheText) {
  RegexPool pool;
  const RegexId exact = json_string_content(pool, "a\"\n\u20ac\U0001F600/");
  const std::vector<std::string> spellings{"a\\\"\\n\u20ac\U0001F600/",
                                           "a\\\"\\u000A\\u20AC\\ud83d\\uDE00\\/"};
  for (const std::string& spelled : spellings) {
    EXPECT_TRUE(pool.matches(exact, spelled)) << spelled;
    EXPECT_EQ(Json::parse('"' + spelled + '"', "s").as_string(), "a\"\n\u20ac\U0001F600/");
  }
  for (const std::string spelled : {"\\u0061\\\"", "a\"", "a\\\"\n"})
    EXPECT_FALSE(pool.matches(exact, spelled)) << spelled;
  const RegexId any = json_string_content(pool);
  for (const std::string spelled :
       {"\"", "\\", "\n", "\\x", "\\u00", "\\u0041", "\\ud800", "\\ud800x", "\\udc00\\ud800",
        "\xff", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_FALSE(pool.matches(any, spelled)) << spelled;
  }
}

TEST(JsonText, LengthsCountCharacters) {
  RegexPool pool;
  const RegexId two = string_length(pool, 2, 2);
  EXPECT_TRUE(pool.matches(two, "\\n\U0001F600"));
  EXPECT_TRUE(pool.matches(two, "\\ud83d\\ude00a"));
  EXPECT_FALSE(pool.matches(two, "abc"));
  EXPECT_EQ(string_length(pool, 3, 2), RegexPool::kNothing);
  EXPECT_TRUE(pool.matches(string_length(pool, 0, UINT64_MAX), "abc"));
  EXPECT_ERROR(string_length(pool, UINT64_MAX, std::nullopt), ErrorCode::LimitExceeded,
               "is longer than can be counted");
}

}  // namespace
}  // namespace pippin::constrain
