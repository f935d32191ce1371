// Compares patterns with Oniguruma, Hugging Face's engine.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
// The C library's <regex.h>, which googletest includes, has types with the same names.
#define ONIG_ESCAPE_REGEX_T_COLLISION
#define re_registers onig_registers
#include <oniguruma.h>
#undef re_registers

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/regex/regex.h"

namespace pippin::tokenizers {
namespace {

using Matches = std::vector<std::pair<size_t, size_t>>;

class Oniguruma {
 public:
  explicit Oniguruma(std::string_view pattern) {
    const auto* begin = reinterpret_cast<const OnigUChar*>(pattern.data());
    OnigErrorInfo info{};
    if (onig_new(&regex_, begin, begin + pattern.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                 ONIG_SYNTAX_DEFAULT, &info) != ONIG_NORMAL) {
      regex_ = nullptr;
    }
  }
  Oniguruma(const Oniguruma&) = delete;
  Oniguruma& operator=(const Oniguruma&) = delete;
  ~Oniguruma() {
    if (regex_ != nullptr) onig_free(regex_);
    onig_region_free(region_, 1);
  }
  bool compiled() const { return regex_ != nullptr; }

  // Returns the matches as Hugging Face iterates over them; nothing if the pattern takes too many
  // steps.
  std::optional<Matches> find_all(std::string_view text) {
    const auto* begin = reinterpret_cast<const OnigUChar*>(text.data());
    const auto* end = begin + text.size();
    Matches found;
    for (size_t start = 0; start <= text.size();) {
      const int place =
          onig_search(regex_, begin, end, begin + start, end, region_, ONIG_OPTION_NONE);
      if (place == ONIG_MISMATCH) break;
      if (place < 0) return std::nullopt;
      const auto first = static_cast<size_t>(region_->beg[0]);
      const auto last = static_cast<size_t>(region_->end[0]);
      if (first == last && !found.empty() && found.back().second == last) {
        if (start < text.size())
          decode_utf8(text, start);
        else
          ++start;
        continue;
      }
      found.emplace_back(first, last);
      start = last;
    }
    return found;
  }

 private:
  OnigRegex regex_ = nullptr;
  OnigRegion* region_ = onig_region_new();
};

Matches our_matches(const Regex& regex, std::string_view text) {
  Matches found;
  for (const auto& range : regex.find_all(text)) found.emplace_back(range.begin, range.end);
  return found;
}

class AgainstOniguruma : public testing::Test {
 protected:
  void SetUp() override {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    ASSERT_EQ(onig_initialize(encodings, 1), ONIG_NORMAL);
    onig_set_retry_limit_in_match(100'000);
  }
};

std::string planes(char32_t count) {
  std::string text;
  for (char32_t c = 0; c < count * 0x10000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) append_utf8(text, c);
  }
  return text;
}

TEST_F(AgainstOniguruma, SetsHoldTheSameCodePoints) {
  const std::string text = planes(4);
  // Other versions of Unicode assign other characters.
  if (Oniguruma(R"(\p{Cn}+)").find_all(text) != our_matches(Regex(R"(\p{Cn}+)", "test"), text)) {
    GTEST_SKIP() << "PCRE2 and Oniguruma have tables of two versions of Unicode";
  }
  std::vector<std::string> sets = {R"(\w)", R"(\W)", R"([\w])", R"([\W])", R"(\d)",
                                   R"(\D)", R"(\s)", R"(\S)",   R"(\h)",   R"(\H)"};
  for (const std::string name : {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                 "lower", "print", "space", "upper", "word", "xdigit"}) {
    sets.push_back("[[:" + name + ":]]");
    sets.push_back("[[:^" + name + ":]]");
    if (name != "word") sets.push_back(R"(\p{)" + name + "}");  // see regex_test.cpp
  }
  for (const std::string name :
       {"L",   "Lu",       "Ll",     "Lt",         "Lm",          "Lo",
        "LC",  "M",        "Mn",     "Mc",         "Me",          "N",
        "Nd",  "Nl",       "No",     "P",          "Pc",          "Pd",
        "Ps",  "Pe",       "Pi",     "Pf",         "Po",          "S",
        "Sm",  "Sc",       "Sk",     "So",         "Z",           "Zs",
        "Zl",  "Zp",       "C",      "Cc",         "Cf",          "Co",
        "Any", "Assigned", "Punct",  "Emoji",      "White_Space", "Extended_Pictographic",
        "Han", "Latn",     "Common", "InCyrillic", "In_Arrows",   "Math"}) {
    sets.push_back(R"(\p{)" + name + "}");
    sets.push_back(R"(\P{)" + name + "}");
  }
  for (const auto& set : sets) {
    EXPECT_EQ(Oniguruma(set + "+").find_all(text), our_matches(Regex(set + "+", "test"), text))
        << set;
  }
}

// Writes random patterns of the supported syntax.
class PatternWriter {
 public:
  explicit PatternWriter(uint32_t seed) : random_(seed) {}

  std::string pattern() { return alternatives(0); }
  std::string text() {
    std::string result;
    for (size_t i = below(14); i > 0; --i) result += one_of(kTextParts);
    return result;
  }

 private:
  using Parts = std::vector<std::string>;
  static const Parts kTextParts, kCharacters, kSets, kEscapes, kRepeats, kGroupRepeats, kAnchors,
      kGroups;

  size_t below(size_t limit) { return random_() % limit; }
  const std::string& one_of(const Parts& parts) { return parts[below(parts.size())]; }

  std::string alternatives(int depth) {
    std::string result = sequence(depth);
    for (size_t i = below(5); i > 2; --i) result += "|" + sequence(depth);
    return result;
  }
  std::string sequence(int depth) {
    std::string result;
    for (size_t i = 1 + below(3); i > 0; --i) result += item(depth);
    return result;
  }
  std::string item(int depth) {
    const size_t kind = below(depth < 3 ? 20 : 17);
    if (kind < 6) return characters() + one_of(kRepeats);
    if (kind < 9) return one_of(kSets) + one_of(kRepeats);
    if (kind < 10) return one_of(kEscapes) + one_of(kRepeats);
    if (kind < 15) return bracket(0) + one_of(kRepeats);
    if (kind < 17) return one_of(kAnchors);
    return one_of(kGroups) + alternatives(depth + 1) + ")" + one_of(kGroupRepeats);
  }
  std::string characters() {
    std::string result;
    for (size_t i = 1 + below(3); i > 0; --i) result += one_of(kCharacters);
    return result;
  }
  std::string bracket(int depth) {
    std::string result = below(3) == 0 ? "[^" : "[";
    for (size_t i = 1 + below(4); i > 0; --i) {
      const size_t kind = below(depth < 3 ? 10 : 8);
      if (kind < 3)
        result += one_of(kCharacters);
      else if (kind < 5)
        result += one_of(kSets);
      else if (kind < 6)
        result += one_of(kEscapes);
      else if (kind < 7)
        result += "b-é";
      else if (kind < 8)
        result += "&&";
      else
        result += bracket(depth + 1);
    }
    return result + "]";
  }

  std::mt19937 random_;
};

const PatternWriter::Parts PatternWriter::kTextParts = {
    "a",  "b",  "S",  "s",  "ſ",        "K",      "k",      "\u212A",  "i", "İ", "ß", "ẞ",
    "f",  "ﬁ",  "1",  "9",  "½",        "²",      " ",      "_",       "-", ".", "]", "^",
    "&",  "$",  "'",  "\n", "\r\n",     "\t",     "é",      "e\u0301", "Ж", "к", "Σ", "ς",
    "中", "あ", "한", "😀",  "👍🏽", "\u200D", "\u00A0", "\u0085",  "٣", "Ⅳ", "ⓐ", "ǅ"};
const PatternWriter::Parts PatternWriter::kCharacters = {"a", "b", "s", "S", "ss", "st", "f", "fi",
                                                         "k", "1", "9", " ", "_",  "'",  "½", "é",
                                                         "ß", "ſ", "к", "σ", "中", "あ"};
const PatternWriter::Parts PatternWriter::kSets = {R"(\w)",
                                                   R"(\W)",
                                                   R"(\d)",
                                                   R"(\D)",
                                                   R"(\s)",
                                                   R"(\S)",
                                                   R"(\h)",
                                                   R"(\H)",
                                                   R"(\p{L})",
                                                   R"(\P{L})",
                                                   R"(\p{^Lu})",
                                                   R"(\p{Ll})",
                                                   R"(\p{Han})",
                                                   R"(\p{Alnum})",
                                                   R"(\p{Punct})",
                                                   R"(\p{Emoji})",
                                                   R"(\p{InCyrillic})",
                                                   R"([[:alpha:]])",
                                                   R"([[:^space:]])",
                                                   R"([[:upper:]])"};
const PatternWriter::Parts PatternWriter::kEscapes = {
    R"(\n)", R"(\t)", R"(\x41)", R"(\x{e9})", R"(\u0431)",   R"(\101)",
    R"(\.)", R"(\-)", R"(\])",   R"(\ca)",    R"(\303\251)", R"(\_)"};
const PatternWriter::Parts PatternWriter::kRepeats = {
    "",     "",     "",      "",     "",     "",       "",    "*",   "+",
    "?",    "*?",   "+?",    "??",   "*+",   "++",     "?+",  "{2}", "{1,2}",
    "{,2}", "{1,}", "{2,1}", "{2}?", "{2}+", "{1,2}?", "{,}", "**"};
// Oniguruma ends a repeat at an empty iteration, regardless of the requested count.
const PatternWriter::Parts PatternWriter::kGroupRepeats = {
    "", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "**", "{,1}"};
// Without \R, which version 6.9.8 cannot repeat.
const PatternWriter::Parts PatternWriter::kAnchors = {
    "^", "$", R"(\b)", R"(\B)", R"(\A)", R"(\z)", R"(\Z)", R"(\G)", ".", R"(\N)", R"(\O)"};
const PatternWriter::Parts PatternWriter::kGroups = {
    "(?:", "(?i:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?m:", "(?-i:", "(?x:", "(?:(?i)"};

TEST_F(AgainstOniguruma, RandomPatternsMatchAlike) {
  constexpr uint32_t kSeed = 20;
  constexpr int kPatterns = 1500, kTexts = 12;
  PatternWriter writer(kSeed);
  int compared = 0, with_matches = 0;
  for (int i = 0; i < kPatterns; ++i) {
    const std::string pattern = writer.pattern();
    Oniguruma theirs(pattern);
    std::optional<Regex> ours;
    try {
      ours.emplace(pattern, "test");
    } catch (const Error& error) {
      // Both reject a repeat of an anchor; only PCRE2 rejects a look-behind of variable length.
      const std::string what = error.what();
      EXPECT_TRUE(!theirs.compiled() || what.find("not fixed length") != std::string::npos ||
                  what.find("too large") != std::string::npos)
          << pattern << ": " << what;
      continue;
    }
    if (!theirs.compiled()) continue;
    for (int k = 0; k < kTexts; ++k) {
      const std::string text = writer.text();
      const auto expected = theirs.find_all(text);
      if (!expected) break;
      try {
        ASSERT_EQ(our_matches(*ours, text), *expected)
            << "seed " << kSeed << ", pattern " << i << ": " << pattern << " on '" << text << "'";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::LimitExceeded) << pattern << ": " << error.what();
        break;
      }
      ++compared;
      with_matches += expected->empty() ? 0 : 1;
    }
  }
  EXPECT_GT(compared, kPatterns * kTexts / 2);
  EXPECT_GT(with_matches, compared / 8);
}

}  // namespace
}  // namespace pippin::tokenizers
