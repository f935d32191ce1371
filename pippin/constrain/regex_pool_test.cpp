#include "pippin/constrain/regex_pool.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::constrain {
namespace {

// Returns all texts over a, b, c of at most `longest` bytes.
std::vector<std::string> short_texts(size_t longest) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == longest) break;
    for (const char c : {'a', 'b', 'c'}) texts.push_back(texts[i] + c);
  }
  return texts;
}

// Reference implementation: an expression as the set of its short texts.
class Reference {
 public:
  explicit Reference(size_t longest) : all_(short_texts(longest)) {}
  using Language = std::function<bool(const std::string&)>;
  const std::vector<std::string>& texts() const { return all_; }

  static Language concat(Language a, Language b) {
    return [=](const std::string& text) {
      for (size_t i = 0; i <= text.size(); ++i) {
        if (a(text.substr(0, i)) && b(text.substr(i))) return true;
      }
      return false;
    };
  }
  static Language repeat(const Language& a, uint32_t least, uint32_t most) {
    return [=](const std::string& text) { return repeats(a, text, least, most); };
  }

 private:
  static bool repeats(const Language& a, const std::string& text, uint32_t least, uint32_t most) {
    if (text.empty() && (least == 0 || a(""))) return true;
    if (most == 0) return false;
    for (size_t i = 1; i <= text.size(); ++i) {
      const uint32_t rest = most == RegexPool::kUnlimited ? most : most - 1;
      if (a(text.substr(0, i)) && repeats(a, text.substr(i), least == 0 ? 0 : least - 1, rest))
        return true;
    }
    return false;
  }
  std::vector<std::string> all_;
};

struct Pair {
  RegexId id;
  Reference::Language language;
};

class RandomRegex {
 public:
  RandomRegex(RegexPool& pool, uint32_t seed) : pool_(pool), random_(seed) {}

  Pair make(int depth) {
    switch (depth == 0 ? below(3) : below(9)) {
      case 0: {
        ByteSet set;
        std::string bytes;
        for (const char c : {'a', 'b', 'c'}) {
          if (below(2) == 0) continue;
          set.add(static_cast<uint8_t>(c));
          bytes += c;
        }
        return {pool_.bytes(set), [=](const std::string& t) {
                  return t.size() == 1 && bytes.find(t) != std::string::npos;
                }};
      }
      case 1: {
        const std::string text = below(2) == 0 ? "ab" : "ca";
        return {pool_.literal(text), [=](const std::string& t) { return t == text; }};
      }
      case 2:
        return {RegexPool::kEmpty, [](const std::string& t) { return t.empty(); }};
      case 3: {
        const Pair a = make(depth - 1);
        return {pool_.complement(a.id), [=](const std::string& t) { return !a.language(t); }};
      }
      case 4:
      case 5: {
        const Pair a = make(depth - 1), b = make(depth - 1);
        return {pool_.concat(a.id, b.id), Reference::concat(a.language, b.language)};
      }
      case 6: {
        const Pair a = make(depth - 1), b = make(depth - 1);
        return {pool_.any_of(a.id, b.id),
                [=](const std::string& t) { return a.language(t) || b.language(t); }};
      }
      case 7: {
        const Pair a = make(depth - 1), b = make(depth - 1);
        return {pool_.all_of(a.id, b.id),
                [=](const std::string& t) { return a.language(t) && b.language(t); }};
      }
      default: {
        const Pair a = make(depth - 1);
        const uint32_t least = below(3),
                       most = below(3) == 0 ? RegexPool::kUnlimited : least + below(3);
        return {pool_.repeat(a.id, least, most), Reference::repeat(a.language, least, most)};
      }
    }
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  RegexPool& pool_;
  std::mt19937 random_;
};

TEST(RegexPool, RandomExpressionsMatchAsTheirDefinitionsSay) {
  const Reference reference(5);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RegexPool pool;
    const Pair pair = RandomRegex(pool, seed).make(4);
    bool is_nothing = true;
    for (const std::string& text : reference.texts()) {
      const bool wanted = pair.language(text);
      ASSERT_EQ(pool.matches(pair.id, text), wanted)
          << "seed " << seed << ", text \"" << text << '"';
      is_nothing &= !wanted;
    }
    ASSERT_TRUE(is_nothing || !pool.is_nothing(pair.id)) << seed;
    // first_bytes() returns every byte that can follow.
    const ByteSet first = pool.first_bytes(pair.id);
    for (unsigned b = 0; b < 256; ++b) {
      const auto byte = static_cast<uint8_t>(b);
      EXPECT_EQ(first.contains(byte), !pool.is_nothing(pool.derivative(pair.id, byte)))
          << seed << ' ' << b;
    }
  }
}

TEST(RegexPool, FindsThatIntersectionsHaveNothing) {
  RegexPool pool;
  const RegexId a = pool.bytes({'a', 'a'}), b = pool.bytes({'b', 'b'});
  const RegexId ab = pool.repeat(pool.any_of(a, b), 0);
  const RegexId has_a = pool.concat(std::array{ab, a, ab});
  EXPECT_TRUE(pool.is_nothing(pool.all_of(pool.repeat(b, 0), has_a)));
  EXPECT_FALSE(pool.is_nothing(pool.all_of(ab, has_a)));
  EXPECT_TRUE(pool.is_nothing(pool.minus(has_a, ab)));
  EXPECT_FALSE(pool.is_nothing(pool.minus(ab, has_a)));
  // Two expressions for even lengths.
  const RegexId even = pool.repeat(pool.concat(a, a), 0),
                even_too = pool.repeat(pool.repeat(a, 2, 2), 0);
  EXPECT_TRUE(pool.is_nothing(pool.minus(even, even_too)));
  EXPECT_TRUE(pool.is_nothing(pool.all_of(even, pool.concat(a, even))));
}

TEST(RegexPool, CountsWithoutSpellingItOut) {
  RegexPool pool;
  const RegexId many = pool.repeat(pool.bytes({'a', 'z'}), 1000, 100'000'000);
  EXPECT_FALSE(pool.matches(many, std::string(999, 'x')));
  EXPECT_TRUE(pool.matches(many, std::string(1000, 'x')));
  EXPECT_LT(pool.size(), 1100U);
}

TEST(RegexPool, RunsAutomata) {
  RegexPool pool;
  RegexPool::Automaton thirds;  // decimal numbers divisible by three
  thirds.next.resize(3);
  thirds.accepting = {true, false, false};
  for (uint32_t s = 0; s < 3; ++s) {
    thirds.next[s].fill(RegexPool::kNowhere);
    for (uint32_t digit = 0; digit < 10; ++digit)
      thirds.next[s]['0' + digit] = (10 * s + digit) % 3;
  }
  const RegexId id = pool.automaton(thirds);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(pool.matches(id, std::to_string(i)), i % 3 == 0) << i;
  EXPECT_TRUE(pool.is_nothing(pool.all_of(id, pool.concat(id, pool.bytes({'1', '2'})))));
}

TEST(RegexPool, EqualExpressionsOfTwoPoolsHaveOneDigest) {
  RegexPool first, second;
  second.literal("something else before");
  const auto make = [](RegexPool& pool) {
    return pool.any_of(pool.repeat(pool.literal("ab"), 1, 4), pool.complement(pool.literal("xyz")));
  };
  EXPECT_EQ(first.digest(make(first)), second.digest(make(second)));
  EXPECT_NE(first.digest(first.literal("a")), first.digest(first.literal("b")));
}

TEST(RegexPool, RefusesMoreThanItsLimits) {
  RegexPool pool({.max_expressions = 100});
  EXPECT_ERROR(pool.literal(std::string(200, 'x') + "y"), ErrorCode::LimitExceeded,
               "a constraint needs more than 100 expressions");
}

}  // namespace
}  // namespace pippin::constrain
