// Requests to a scheduler with drafts: the tokens, and the cache kept of them, are the same as
// without drafts.

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/row_model_testing.h"

namespace pippin::scheduling {
namespace {

using runtime::StopReason;
using Keeps = RowModel::Keeps;

std::shared_ptr<runtime::Drafts> all_drafts() {
  return std::make_shared<runtime::Drafts>(runtime::DraftOptions{.always = true});
}

// Every seventh predicted token is wrong.
Request request_of(const RowModel& model, Ids prompt, int64_t max_tokens) {
  Request request{prompt, {}};
  request.options.max_tokens = max_tokens;
  request.options.predicted = expected_of(model, std::move(prompt), max_tokens);
  for (size_t i = 6; i < request.options.predicted.size(); i += 7) {
    request.options.predicted[i] ^= 1;
  }
  return request;
}

class DraftedRequests : public testing::Test {
 protected:
  std::shared_ptr<RowModel> model_ = std::make_shared<RowModel>(4000, 64, Keeps::Rows);
};

TEST_F(DraftedRequests, GiveTheSameTokens) {
  Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = 0});
  const Asked asked = ask(scheduler, request_of(*model_, {1, 2, 3}, 60));
  const Outcome& outcome = asked.heard->wait();
  EXPECT_EQ(asked.heard->ids, expected_of(*model_, {1, 2, 3}, 60));
  EXPECT_EQ(outcome.reason, StopReason::MaxTokens);
  EXPECT_EQ(outcome.generated_tokens, 60);
  EXPECT_GE(outcome.accepted_tokens, 20);
  EXPECT_GT(outcome.drafted_tokens, outcome.accepted_tokens);
  const SchedulerState state = wait_until_idle(scheduler);
  EXPECT_EQ(state.drafted_tokens, static_cast<uint64_t>(outcome.drafted_tokens));
  EXPECT_EQ(state.accepted_tokens, static_cast<uint64_t>(outcome.accepted_tokens));
  EXPECT_LT(state.steps, 45U);
  // A request may disable drafts.
  Request without = request_of(*model_, {1, 2, 3}, 60);
  without.options.max_drafts = 0;
  const Asked other = ask(scheduler, without);
  EXPECT_EQ(other.heard->wait().drafted_tokens, 0);
  EXPECT_EQ(other.heard->ids, asked.heard->ids);
}

// Turns of a conversation: the cache has the answers as they were chosen.
TEST_F(DraftedRequests, AreKeptAsTheyWereChosen) {
  Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = kPlenty});
  Ids text = {5, 6, 7};
  for (int turn = 0; turn < 6; ++turn) {
    const Asked asked = ask(scheduler, request_of(*model_, text, 70));
    const Outcome& outcome = asked.heard->wait();
    ASSERT_EQ(asked.heard->ids, expected_of(*model_, text, 70)) << turn;
    if (turn > 0) {
      EXPECT_GT(outcome.cached_tokens, 64);
    }
    text.insert(text.end(), asked.heard->ids.begin(), asked.heard->ids.end());
    text.push_back(turn);
  }
}

TEST_F(DraftedRequests, EndWhereTheyWouldWithout) {
  const Ids all = expected_of(*model_, {9, 8}, 40);
  Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = kPlenty});
  for (const size_t stop : {1, 4, 11, 30}) {
    const Ids want(all.begin(), all.begin() + static_cast<int64_t>(stop));
    Asked asked;
    asked.heard->look = [&](const Token&) { return asked.heard->ids.size() < stop; };
    asked.job = scheduler.submit(request_of(*model_, {9, 8}, 40), asked.heard);
    EXPECT_EQ(asked.heard->wait().reason, StopReason::Callback);
    EXPECT_EQ(asked.heard->ids, want);
    // An end token, which is not part of the text.
    Request request = request_of(*model_, {9, 8}, 40);
    request.options.end_ids = {all[stop]};
    const auto first = std::find(all.begin(), all.end(), all[stop]);
    const Asked ended = ask(scheduler, request);
    EXPECT_EQ(ended.heard->wait().reason, StopReason::EndOfText);
    EXPECT_EQ(ended.heard->ids, Ids(all.begin(), first));
  }
}

TEST_F(DraftedRequests, LeavePassesToSeveralThatDecode) {
  Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = 0});
  std::vector<Asked> together;
  together.reserve(5);
  for (int32_t i = 0; i < 5; ++i) {
    together.push_back(ask(scheduler, request_of(*model_, {i, 1}, 50 + i)));
  }
  for (int32_t i = 0; i < 5; ++i) {
    const auto& heard = *together[static_cast<size_t>(i)].heard;
    together[static_cast<size_t>(i)].heard->wait();
    EXPECT_EQ(heard.ids, expected_of(*model_, {i, 1}, 50 + i)) << i;
  }
}

TEST_F(DraftedRequests, NeedNoMoreMemoryThanThereIs) {
  // Two blocks: the text fills them to the last token.
  Scheduler scheduler(model_, tokenizer(),
                      {.cache_tokens = 2 * kBlockTokens, .drafts = all_drafts(), .cache_ram = 0});
  const Asked asked = ask(scheduler, request_of(*model_, {1, 2, 3}, 500));
  EXPECT_EQ(asked.heard->wait().reason, StopReason::ContextFull);
  EXPECT_EQ(asked.heard->ids, expected_of(*model_, {1, 2, 3}, 2 * kBlockTokens - 3 + 1));
}

TEST_F(DraftedRequests, APassThatFailsIsDoneAgainAlone) {
  int passes = 0;
  model_->before_feed = [&] {
    if (++passes % 3 == 0) throw std::runtime_error("no memory");
  };
  Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = 0});
  const Asked asked = ask(scheduler, request_of(*model_, {1, 2, 3}, 40));
  EXPECT_EQ(asked.heard->error(), "");
  EXPECT_EQ(asked.heard->ids, expected_of(*model_, {1, 2, 3}, 40));
}

TEST_F(DraftedRequests, StatesAreRestored) {
  for (const Keeps keeps : {Keeps::State, Keeps::Both}) {
    model_ = std::make_shared<RowModel>(4000, 64, keeps);
    Scheduler scheduler(model_, tokenizer(), {.drafts = all_drafts(), .cache_ram = 0});
    const Asked asked = ask(scheduler, request_of(*model_, {1, 2, 3}, 40));
    EXPECT_GT(asked.heard->wait().drafted_tokens, 0);
    EXPECT_EQ(asked.heard->ids, expected_of(*model_, {1, 2, 3}, 40));
  }
}

}  // namespace
}  // namespace pippin::scheduling
