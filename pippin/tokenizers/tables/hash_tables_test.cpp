// Compares the tables with std::map, over similar tokens.
#include "pippin/tokenizers/tables/hash_tables.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace pippin::tokenizers {
namespace {

// Returns up to 40 bytes from a small alphabet that includes zero: many tokens differ in one byte
// or only in length.
std::string random_token(std::mt19937& random) {
  std::string token(random() % 41, '\0');
  for (char& c : token) c = "\0aab\xC4"[random() % 5];
  return token;
}

// Copies a text to an allocation of exactly its size, so that a sanitizer detects reads past the
// end.
std::vector<char> alone(const std::string& text) {
  return {text.begin(), text.end()};
}

TEST(TokenTable, LaterIdsHoldAndOthersAreAbsent) {
  std::mt19937 random(1);
  for (const size_t count : {0, 1, 2, 31, 32, 33, 20000}) {
    StringPool tokens;
    std::vector<int32_t> ids;
    std::map<std::string, int32_t> expected;
    for (size_t i = 0; i < count; ++i) {
      const std::string token = random_token(random);
      tokens.add(token);
      ids.push_back(static_cast<int32_t>(random() % 1000));
      expected[token] = ids.back();
    }
    const TokenTable table(tokens, ids);
    EXPECT_EQ(table.size(), static_cast<int32_t>(expected.size()));
    const auto id_of = [&](const std::string& token) {
      const std::vector<char> bytes = alone(token);
      const std::string_view view(bytes.data(), bytes.size());
      table.prefetch(hash_of(view));
      table.prefetch_token(hash_of(view));
      return table[view];
    };
    for (const auto& [token, id] : expected) ASSERT_EQ(id_of(token), id);
    for (int i = 0; i < 1000; ++i) {
      const std::string token = random_token(random);
      const auto found = expected.find(token);
      ASSERT_EQ(id_of(token), found == expected.end() ? -1 : found->second);
    }
  }
  EXPECT_EQ(TokenTable()["a"], -1);
}

// Large enough for huge pages.
TEST(MergeTable, LaterMergesHoldAndOthersAreAbsent) {
  std::mt19937 random(2);
  constexpr size_t kCount = 200000;
  MergeTable table(kCount);
  std::map<std::pair<int32_t, int32_t>, uint32_t> expected;
  const auto id = [&] { return static_cast<int32_t>(random() % 600); };
  for (size_t i = 0; i < kCount; ++i) {
    const std::pair<int32_t, int32_t> pair{id(), id()};
    const auto rank = static_cast<uint32_t>(i);
    table.prefetch(pair.first, pair.second);
    table.insert(pair.first, pair.second, {rank, pair.first});
    expected[pair] = rank;
  }
  EXPECT_LT(expected.size(), kCount);
  for (int32_t left = 0; left < 600; ++left) {
    for (int32_t right = 0; right < 600; ++right) {
      const Merge* const merge = table.find(left, right);
      const auto found = expected.find({left, right});
      ASSERT_EQ(merge != nullptr, found != expected.end());
      if (merge == nullptr) continue;
      ASSERT_EQ(merge->rank, found->second);
      ASSERT_EQ(merge->id, left);
    }
  }
}

}  // namespace
}  // namespace pippin::tokenizers
