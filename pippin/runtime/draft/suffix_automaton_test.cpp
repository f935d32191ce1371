#include "pippin/runtime/draft/suffix_automaton.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

// The length of the longest suffix of `text` that occurs in `known`, by brute force.
int32_t longest(std::span<const int32_t> text, std::span<const int32_t> known) {
  for (size_t size = std::min(text.size(), known.size()); size > 0; --size) {
    const auto end = text.last(size);
    if (std::search(known.begin(), known.end(), end.begin(), end.end()) != known.end()) {
      return static_cast<int32_t>(size);
    }
  }
  return 0;
}

// Whether the `length` tokens before `end` are the last ones of `text`.
bool is_occurrence(std::span<const int32_t> text, std::span<const int32_t> known, int64_t end,
                   int32_t length) {
  const auto size = static_cast<size_t>(length);
  const auto there = known.first(static_cast<size_t>(end)).last(size), here = text.last(size);
  return std::equal(there.begin(), there.end(), here.begin());
}

TEST(SuffixAutomaton, FindsTheLongestEndOfItsOwnText) {
  for (const int32_t letters : {1, 2, 3, 8, 100}) {
    std::mt19937 random(static_cast<uint32_t>(letters));
    SuffixAutomaton automaton;
    SuffixAutomaton::Match match;
    std::vector<int32_t> text;
    for (int i = 0; i < 200; ++i) {
      const auto id = static_cast<int32_t>(random() % static_cast<uint32_t>(letters));
      match = automaton.advance(match, id);
      std::vector<int32_t> longer = text;
      longer.push_back(id);
      ASSERT_EQ(match.length, longest(longer, text)) << "token " << i << " of " << letters;
      if (match.length > 0) {
        ASSERT_TRUE(is_occurrence(longer, text, automaton.end(match), match.length)) << i;
      }
      automaton.append(id);
      text = longer;
    }
    EXPECT_TRUE(std::equal(text.begin(), text.end(), automaton.text().begin()));
  }
}

// Matches another text while the automaton grows.
TEST(SuffixAutomaton, MatchesStayWhileItGrows) {
  std::mt19937 random(5);
  SuffixAutomaton automaton;
  SuffixAutomaton::Match match;
  std::vector<int32_t> text, known;
  for (int i = 0; i < 300; ++i) {
    for (uint32_t count = random() % 4; count > 0; --count) {
      known.push_back(static_cast<int32_t>(random() % 3));
      automaton.append(known.back());
    }
    if (match.length > 0) {
      ASSERT_TRUE(is_occurrence(text, known, automaton.end(match), match.length)) << i;
    }
    text.push_back(static_cast<int32_t>(random() % 3));
    const int32_t before = match.length;
    match = automaton.advance(match, text.back());
    // It may have missed tokens appended after its last step.
    EXPECT_LE(match.length, std::min(before + 1, longest(text, known)));
  }
  EXPECT_GE(match.length, 4);
}

TEST(SuffixAutomaton, TheLatestOccurrenceCounts) {
  SuffixAutomaton automaton;
  for (const int32_t id : {1, 2, 3, 9, 1, 2, 4, 9}) automaton.append(id);
  SuffixAutomaton::Match match;
  for (const int32_t id : {1, 2}) match = automaton.advance(match, id);
  EXPECT_EQ(match.length, 2);
  EXPECT_EQ(automaton.end(match), 6);
}

TEST(SuffixAutomaton, TellsWhetherTheSameAlwaysFollows) {
  SuffixAutomaton automaton;
  const auto match = [&](std::initializer_list<int32_t> text) {
    SuffixAutomaton::Match result;
    for (const int32_t id : text) result = automaton.advance(result, id);
    return result;
  };
  for (const int32_t id : {1, 2, 3, 1, 2, 4, 5, 2, 3}) automaton.append(id);
  EXPECT_FALSE(automaton.has_one_continuation(match({2})));
  EXPECT_FALSE(automaton.has_one_continuation(match({1, 2})));
  EXPECT_TRUE(automaton.has_one_continuation(match({3, 1, 2})));
  EXPECT_TRUE(automaton.has_one_continuation(match({5})));
}

TEST(SuffixAutomaton, NothingGoesOverWhatSeparatesTexts) {
  SuffixAutomaton automaton;
  for (const int32_t id : {1, 2, -1, 3, -2, 3}) automaton.append(id);
  SuffixAutomaton::Match match;
  for (const int32_t id : {1, 2, 3}) match = automaton.advance(match, id);
  EXPECT_EQ(match.length, 1);
}

// A text with as many states as tokens must not make each token more expensive.
TEST(SuffixAutomaton, ARepeatedTokenCostsNoMoreThanOthers) {
  SuffixAutomaton automaton;
  SuffixAutomaton::Match match;
  for (int i = 0; i < 200'000; ++i) {
    match = automaton.advance(match, 7);
    automaton.append(7);
  }
  EXPECT_EQ(match.length, 199'999);
  EXPECT_LT(automaton.bytes(), 200'000U * 128);
}

}  // namespace
}  // namespace pippin::runtime
