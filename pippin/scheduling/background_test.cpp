// Requests in the background next to others.
#include <gtest/gtest.h>

#include "pippin/runtime/fake_model.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/requests_testing.h"

namespace pippin::scheduling {
namespace {

using runtime::StopReason;

class Background : public testing::Test {
 protected:
  static std::shared_ptr<runtime::FakeModel> counting() {
    return std::make_shared<runtime::FakeModel>(
        1'000'000'000, 50, runtime::FakeModel::Options{.capabilities = {.many_sequences = true}});
  }
  static Request request(Ids prompt, int64_t max_tokens = -1) {
    Request result{std::move(prompt), {}};
    result.options.max_tokens = max_tokens;
    return result;
  }
  static Request in_background(Ids prompt, int64_t max_tokens = -1) {
    Request result = request(std::move(prompt), max_tokens);
    result.in_background = true;
    return result;
  }
  // The model counts.
  static void expect_counts(const Ids& ids, int32_t next) {
    for (const int32_t id : ids) {
      ASSERT_EQ(id, next % 50);
      ++next;
    }
  }
};

TEST_F(Background, WaitsForAllOthers) {
  Scheduler scheduler(counting(), tokenizer(), {.max_running = 1});
  const Asked first = ask(scheduler, request({1}));
  first.heard->wait_for_tokens(1);
  const Asked later = ask(scheduler, in_background({2}, 5));
  size_t early = 0;
  Asked second;
  second.heard->look = [&](const Token&) {
    early += later.heard->ids.size();  // both are called on the scheduler's thread
    return true;
  };
  second.job = scheduler.submit(request({3}, 20), second.heard);
  first.job->cancel();
  EXPECT_EQ(second.heard->wait().reason, StopReason::MaxTokens);
  EXPECT_EQ(later.heard->wait().generated_tokens, 5);
  EXPECT_EQ(early, 0u);
}

TEST_F(Background, GivesItsPlaceBackAndGoesOn) {
  Scheduler scheduler(counting(), tokenizer(), {.max_running = 2});
  std::vector<Asked> low;
  for (int i = 0; i < 2; ++i) low.push_back(ask(scheduler, in_background({i})));
  for (const Asked& one : low) one.heard->wait_for_tokens(10);
  for (int round = 0; round < 3; ++round) {
    const Asked quick = ask(scheduler, request({7}, 20));
    EXPECT_EQ(quick.heard->wait().reason, StopReason::MaxTokens);
    expect_counts(quick.heard->ids, 8);
  }
  EXPECT_GE(scheduler.state().preempted, 1u);
  for (const Asked& one : low) one.heard->wait_for_tokens(2000);
  for (Asked& one : low) {
    one.job->cancel();
    EXPECT_EQ(one.heard->wait().reason, StopReason::Cancelled);
  }
  for (int i = 0; i < 2; ++i) expect_counts(low[static_cast<size_t>(i)].heard->ids, i + 1);
}

TEST_F(Background, GivesItsMemoryBack) {
  Scheduler scheduler(counting(), tokenizer(), {.cache_tokens = 2 * kBlockTokens, .cache_ram = 0});
  const Asked low = ask(scheduler, in_background(Ids(100, 4), 20));
  low.heard->wait_for_tokens(1);
  const Asked quick = ask(scheduler, request(Ids(100, 7), 10));
  EXPECT_EQ(quick.heard->wait().reason, StopReason::MaxTokens);
  EXPECT_EQ(low.heard->wait().reason, StopReason::MaxTokens);
  expect_counts(low.heard->ids, 5);
}

TEST_F(Background, TakesOneOfSeveralSteps) {
  Scheduler scheduler(counting(), tokenizer(), {});
  const Asked low = ask(scheduler, in_background({1}));
  low.heard->wait_for_tokens(10);
  std::vector<size_t> counts;
  Asked quick;
  quick.heard->look = [&](const Token&) {
    counts.push_back(low.heard->ids.size());
    return true;
  };
  quick.job = scheduler.submit(request({7}, 161), quick.heard);
  quick.heard->wait();
  const size_t gained = counts.back() - counts.front();
  EXPECT_GE(gained, 19u);
  EXPECT_LE(gained, 21u);
  low.heard->wait_for_tokens(counts.back() + 100);  // every step again
}

}  // namespace
}  // namespace pippin::scheduling
