#include "pippin/runtime/draft/drafting.h"

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

using Ids = std::vector<int32_t>;

// Counts up. Returns levels from a list.
class Counter final : public Drafter {
 public:
  explicit Counter(bool is_free, int level = 3) : is_free_(is_free), level_(level) {}
  void observe(std::span<const int32_t> ids) override {
    if (!ids.empty()) last_ = ids.back();
    given_ = 0;
  }
  std::optional<Draft> next() override {
    ++num_asked;
    return Draft{last_ + ++given_, level_};
  }
  Prior prior(int /*level*/) const override { return {0.6, 4}; }
  bool is_free() const override { return is_free_; }

  int num_asked = 0;

 private:
  const bool is_free_;
  const int level_;
  int32_t last_ = 0, given_ = 0;
};

struct Fixture {
  explicit Fixture(bool is_free) {
    auto own = std::make_unique<Counter>(is_free);
    counter = own.get();
    std::vector<std::unique_ptr<Drafter>> sources;
    sources.push_back(std::move(own));
    for (int i = 0; i < 20; ++i) {
      for (int64_t rows = 1; rows < 17; ++rows) {
        cost->measured(rows, 0.01 * (1 + 0.2 * static_cast<double>(rows - 1)));
      }
    }
    drafting = std::make_unique<Drafting>(std::move(sources), cost, Drafting::Limits());
    drafting->observe(Ids{100});
  }
  // Runs one pass of a text that counts up for `right` more tokens. Returns the number of drafts.
  size_t pass(int32_t right) {
    const auto drafts = drafting->propose(15);
    const size_t count = drafts.size();
    Ids chosen;
    for (size_t i = 0;; ++i) {
      const auto step = static_cast<int32_t>(i) + 1;
      chosen.push_back(last + (step <= right ? step : 1000));
      if (i >= count || drafts[i] != chosen.back()) break;
    }
    last = chosen.back();
    drafting->took(chosen, 0);
    return count;
  }
  std::shared_ptr<RowCost> cost = std::make_shared<RowCost>();
  Counter* counter = nullptr;
  std::unique_ptr<Drafting> drafting;
  int32_t last = 100;
};

TEST(Drafting, DraftsMoreWhereMoreIsRight) {
  Fixture good(true), bad(true);
  for (int i = 0; i < 30; ++i) {
    good.pass(15);
    bad.pass(0);
  }
  EXPECT_GE(good.pass(15), 8U);
  EXPECT_EQ(bad.pass(0), 0U);
  EXPECT_GT(good.drafting->num_accepted(), 200);
  EXPECT_EQ(bad.drafting->num_accepted(), 0);
}

// Drafts are measured even when they are not fed.
TEST(Drafting, FreeSourcesComeBackWithoutAProbe) {
  Fixture fixture(true);
  for (int i = 0; i < 40; ++i) fixture.pass(0);
  EXPECT_EQ(fixture.pass(0), 0U);
  size_t passes = 0;
  while (fixture.pass(15) == 0 && passes < 100) ++passes;
  EXPECT_LT(passes, 60U);
}

TEST(Drafting, CostlySourcesAreProbedRarely) {
  Fixture fixture(false);
  for (int i = 0; i < 100; ++i) fixture.pass(0);
  const int before = fixture.counter->num_asked;
  for (int i = 0; i < 512; ++i) fixture.pass(0);
  const int asked = fixture.counter->num_asked - before;
  EXPECT_GE(asked, 1);
  EXPECT_LE(asked, 40);
  size_t passes = 0;
  while (fixture.pass(15) < 4 && passes < 3000) ++passes;
  EXPECT_LT(passes, 2500U);
}

TEST(Drafting, NothingPaysWhereRowsCostWhatTokensDo) {
  Fixture fixture(true);
  for (int i = 0; i < 60; ++i) {
    for (int64_t rows = 1; rows < 17; ++rows) {
      fixture.cost->measured(rows, 0.01 * static_cast<double>(rows));
    }
  }
  for (int i = 0; i < 30; ++i) fixture.pass(15);
  EXPECT_EQ(fixture.pass(15), 0U);
}

TEST(Drafting, KeepsToItsLimits) {
  Fixture fixture(true);
  for (int i = 0; i < 30; ++i) fixture.pass(15);
  EXPECT_LE(fixture.drafting->propose(3).size(), 3U);
  EXPECT_TRUE(fixture.drafting->propose(0).empty());
  EXPECT_TRUE(fixture.drafting->propose(-1).empty());
}

}  // namespace
}  // namespace pippin::runtime
