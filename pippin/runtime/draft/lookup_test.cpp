#include "pippin/runtime/draft/lookup.h"

#include <numeric>

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

using Ids = std::vector<int32_t>;

Ids all(Drafter& drafter, size_t most = 10) {
  Ids ids;
  while (ids.size() < most) {
    const auto draft = drafter.next();
    if (!draft) break;
    EXPECT_GE(draft->level, 0);
    EXPECT_LT(draft->level, kDraftLevels);
    ids.push_back(draft->id);
  }
  return ids;
}

TEST(LookupDrafter, GivesWhatCameAfterTheLongestEnd) {
  LookupDrafter drafter({}, nullptr);
  drafter.observe(Ids{1, 2, 3, 4, 5, 9, 2, 3, 7, 8, 1, 2, 3});
  EXPECT_EQ(all(drafter, 4), (Ids{4, 5, 9, 2}));  // 1 2 3, not the later 2 3
  drafter.observe(Ids{7});
  EXPECT_EQ(all(drafter, 3), (Ids{8, 1, 2}));
  drafter.observe(Ids{50});
  EXPECT_EQ(all(drafter), Ids());
}

TEST(LookupDrafter, OfEqualOnesTheLatest) {
  LookupDrafter drafter({}, nullptr);
  drafter.observe(Ids{1, 2, 3, 9, 1, 2, 4, 9, 1, 2});
  EXPECT_EQ(all(drafter, 2), (Ids{4, 9}));
}

TEST(LookupDrafter, LongerMatchesAreOtherLevels) {
  LookupDrafter drafter({}, nullptr);
  Ids text(40);
  std::iota(text.begin(), text.end(), 100);
  drafter.observe(text);
  drafter.observe(Ids{100});
  std::vector<int> levels(20);
  for (int& level : levels) level = drafter.next()->level;
  EXPECT_EQ(levels.front(), 0);
  EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
  EXPECT_GT(drafter.prior(levels.back()).rate, drafter.prior(levels.front()).rate);
}

TEST(LookupDrafter, BeginsWithWhatIsExpected) {
  LookupDrafter drafter(Ids{20, 21, 22, 23, 24}, nullptr);
  drafter.observe(Ids{1, 2, 3});
  EXPECT_EQ(all(drafter), (Ids{20, 21, 22, 23, 24}));
  drafter.observe(Ids{20, 30, 22});
  EXPECT_EQ(all(drafter), (Ids{23, 24}));
  drafter.observe(Ids{24});
  EXPECT_EQ(all(drafter), Ids());  // the end of the text is not a prefix of the prompt
}

TEST(LookupPool, HelpsOtherTexts) {
  const auto pool = std::make_shared<LookupPool>(1 << 20);
  pool->add(Ids{1, 2, 3, 4, 5});
  pool->add(Ids{6, 7});
  LookupDrafter drafter({}, pool);
  drafter.observe(Ids{9, 2, 3});
  EXPECT_EQ(all(drafter), (Ids{4, 5}));  // no more: another text follows
  drafter.observe(Ids{6});
  EXPECT_EQ(all(drafter), (Ids{7}));
  // An equally long match in the text itself is preferred.
  drafter.observe(Ids{2, 8, 2});
  EXPECT_EQ(all(drafter, 1), (Ids{8}));
}

TEST(LookupPool, KeepsToItsBytes) {
  constexpr uint64_t kBytes = 1 << 19;
  const auto pool = std::make_shared<LookupPool>(kBytes);
  LookupDrafter drafter({}, pool);
  Ids text(700);
  for (int32_t round = 0; round < 40; ++round) {
    std::iota(text.begin(), text.end(), round * 700);
    pool->add(text);
    EXPECT_LE(pool->bytes(), 2 * kBytes) << round;  // vectors grow by doubling
    drafter.observe(Ids{round * 700 + 5, round * 700 + 6});
    EXPECT_EQ(all(drafter, 1), Ids{round * 700 + 7});
  }
  LookupDrafter other({}, pool);
  other.observe(Ids{5, 6});
  EXPECT_EQ(all(other), Ids());  // the first texts were dropped
}

}  // namespace
}  // namespace pippin::runtime
