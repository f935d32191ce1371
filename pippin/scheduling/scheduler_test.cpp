#include "pippin/scheduling/scheduler.h"

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "pippin/app/open/open_model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/fake_model.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/piece_size.h"
#include "pippin/scheduling/requests_testing.h"

namespace pippin::scheduling {
namespace {

using runtime::StopReason;

// The model in the binary, loaded once.
const runtime::LoadedModel& demo() {
  static const runtime::LoadedModel model = app::open_model({});
  return model;
}

runtime::TextOptions sampled(uint64_t seed, int64_t max_tokens) {
  runtime::TextOptions options;
  options.sampling.temperature = seed % 3 == 0 ? 0 : 0.9;
  options.sampling.repetition_penalty = seed % 2 == 0 ? 1 : 1.2;
  options.sampling.seed = seed;
  options.max_tokens = max_tokens;
  return options;
}

Request story(int i, int64_t max_tokens = 12) {
  const char* const beginnings[] = {"Once upon a time", "The fox", "A little girl named Mia",
                                    "One day a big dog went to the"};
  std::string text = beginnings[i % 4];
  for (int k = 0; k < i % 5; ++k) text += " and the small bird sat in the tree";
  return {demo().tokenizer.encode(text), sampled(static_cast<uint64_t>(i), max_tokens)};
}

Scheduler demo_scheduler(const SchedulerOptions& options = {}) {
  return {demo().model, demo().tokenizer, options};
}

TEST(Scheduler, GivesTheTextOfGenerate) {
  Scheduler scheduler = demo_scheduler();
  for (int i = 0; i < 4; ++i) {
    const Request request = story(i);
    const auto sequence = demo().model->new_sequence();
    const auto expected =
        runtime::generate_text(*sequence, demo().tokenizer, request.prompt, request.options,
                               runtime::text_only([](auto) { return true; }));
    const Asked asked = ask(scheduler, request);
    const Outcome& outcome = asked.heard->wait();
    EXPECT_EQ(asked.heard->error(), "");
    EXPECT_EQ(asked.heard->ids, expected.ids);
    EXPECT_EQ(asked.heard->text, expected.text);
    EXPECT_EQ(outcome.reason, expected.reason);
    EXPECT_EQ(outcome.prompt_tokens, std::ssize(request.prompt));
    EXPECT_EQ(outcome.generated_tokens, std::ssize(expected.ids));
    EXPECT_GE(outcome.total_seconds, outcome.first_token_seconds);
  }
}

TEST(Scheduler, OthersChangeNothing) {
  constexpr int kRequests = 16;
  std::vector<Ids> alone;
  for (int i = 0; i < kRequests; ++i) {
    Scheduler scheduler = demo_scheduler();
    const Asked asked = ask(scheduler, story(i));
    asked.heard->wait();
    alone.push_back(asked.heard->ids);
  }
  Scheduler scheduler = demo_scheduler();
  std::vector<Asked> together;
  for (int i = 0; i < kRequests; ++i) together.push_back(ask(scheduler, story(i)));
  for (int i = 0; i < kRequests; ++i) {
    together[static_cast<size_t>(i)].heard->wait();
    EXPECT_EQ(together[static_cast<size_t>(i)].heard->ids, alone[static_cast<size_t>(i)]) << i;
  }
  EXPECT_GT(wait_until_idle(scheduler).prompt_tokens_per_second, 0);
}

TEST(Scheduler, EndsBeforeAStopString) {
  Scheduler scheduler = demo_scheduler();
  Request request = story(0, 60);
  const Asked whole = ask(scheduler, request);
  whole.heard->wait();
  const std::string stop = whole.heard->text.substr(whole.heard->text.size() / 2, 5);
  request.options.stop = {stop};
  request.options.logprobs = 0;
  const Asked cut = ask(scheduler, request);
  EXPECT_EQ(cut.heard->wait().reason, StopReason::StopString);
  EXPECT_EQ(cut.heard->text, whole.heard->text.substr(0, whole.heard->text.find(stop)));
  EXPECT_EQ(cut.heard->logprobs.size(), cut.heard->ids.size());
}

TEST(Scheduler, CancelsWhatWaitsReadsAndDecodes) {
  const auto model = std::make_shared<runtime::FakeModel>(1'000'000'000, 50);
  Scheduler scheduler(model, demo().tokenizer, {});  // one sequence
  std::mutex gate;
  gate.lock();
  Request endless{{1}, {}};
  Asked decoding = ask(scheduler, endless);
  decoding.heard->wait_for_tokens(3);
  Asked waiting = ask(scheduler, endless);
  waiting.job->cancel();
  EXPECT_EQ(waiting.heard->wait().reason, StopReason::Cancelled);
  EXPECT_TRUE(waiting.heard->ids.empty());
  EXPECT_FALSE(decoding.heard->has_ended());
  decoding.job->cancel();
  EXPECT_EQ(decoding.heard->wait().reason, StopReason::Cancelled);
  EXPECT_GE(decoding.heard->ids.size(), 3u);

  model->before_forward = [&](int64_t position) {
    if (position > 0) const std::lock_guard lock(gate);  // while the prompt is read
  };
  Asked reading = ask(scheduler, {Ids(500, 1), {}});
  while (scheduler.state().reading == 0) std::this_thread::yield();
  reading.job->cancel();
  gate.unlock();
  EXPECT_EQ(reading.heard->wait().reason, StopReason::Cancelled);
  EXPECT_TRUE(reading.heard->ids.empty());
}

TEST(Scheduler, OneSequenceServesOneAfterAnother) {
  const auto model = std::make_shared<runtime::FakeModel>(1000, 50);
  Scheduler scheduler(model, demo().tokenizer, {});
  std::vector<Asked> all;
  for (int i = 0; i < 5; ++i) {
    Request request{{i}, {}};
    request.options.max_tokens = 20;
    all.push_back(ask(scheduler, request));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(all[static_cast<size_t>(i)].heard->wait().reason, StopReason::MaxTokens);
    EXPECT_EQ(all[static_cast<size_t>(i)].heard->ids.front(), i + 1);
  }
  // Each prompt is read completely before the next.
  Ids expected;
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 20; ++k) expected.push_back((i + k) % 50);
  }
  EXPECT_EQ(model->fed, expected);
}

std::shared_ptr<runtime::FakeModel> many(int64_t context = 100'000) {
  return std::make_shared<runtime::FakeModel>(
      context, 50, runtime::FakeModel::Options{.capabilities = {.many_sequences = true}});
}

TEST(Scheduler, ThoseWhoDoNotFitWaitAndGetTheSame) {
  Scheduler scheduler(many(), demo().tokenizer, {.cache_tokens = 4 * kBlockTokens});
  std::vector<Asked> all;
  for (int i = 0; i < 6; ++i) {
    Request request{Ids(10, i), {}};
    request.options.max_tokens = 3 * kBlockTokens;  // not enough memory for two at a time
    all.push_back(ask(scheduler, request));
  }
  for (int i = 0; i < 6; ++i) {
    const Asked& one = all[static_cast<size_t>(i)];
    EXPECT_EQ(one.heard->wait().reason, StopReason::MaxTokens) << one.heard->error();
    Ids expected;
    for (int k = 1; k <= 3 * kBlockTokens; ++k) expected.push_back((i + k) % 50);
    EXPECT_EQ(one.heard->ids, expected);
  }
  EXPECT_GT(wait_until_idle(scheduler).preempted, 0u);
}

TEST(Scheduler, OneWhoIsAloneEndsWhereMemoryDoes) {
  Scheduler scheduler(many(), demo().tokenizer, {.cache_tokens = 2 * kBlockTokens});
  const Asked first = ask(scheduler, {Ids(10, 1), {}});
  const Asked second = ask(scheduler, {Ids(10, 2), {}});
  for (const Asked& one : {first, second}) {
    EXPECT_EQ(one.heard->wait().reason, StopReason::ContextFull) << one.heard->error();
    EXPECT_GE(one.heard->wait().generated_tokens, 2 * kBlockTokens - 10);
  }
}

TEST(Scheduler, FillsTheContext) {
  Scheduler scheduler(many(5), demo().tokenizer, {});
  const Asked asked = ask(scheduler, {{1, 2, 3}, {}});
  EXPECT_EQ(asked.heard->wait().reason, StopReason::ContextFull);
  EXPECT_EQ(asked.heard->ids, (Ids{4, 5, 6}));
}

TEST(Scheduler, PromptsTakeTurns) {
  const auto model = many();
  std::mutex gate;
  gate.lock();  // until both have been submitted
  model->before_forward = [&](int64_t) { const std::lock_guard lock(gate); };
  Scheduler scheduler(model, demo().tokenizer, {.step_seconds = 1e-9});  // the smallest pieces
  Request request{Ids(5000, 1), {}};
  request.options.max_tokens = 1;
  const Asked last = ask(scheduler, request);
  request.prompt.resize(100);
  const Asked first = ask(scheduler, request);
  size_t pieces_before = 0;  // of the long prompt, before the short one's token
  first.heard->look = [&](const Token&) {
    // Called on the scheduler's thread, which changes them.
    pieces_before = last.heard->prompt_pieces.size();
    return true;
  };
  gate.unlock();
  first.heard->wait();
  last.heard->wait();
  EXPECT_GT(pieces_before, 2u);
  EXPECT_LT(pieces_before, 100u / PieceSize::kLeast + 5);  // one in turn for each of its own
  EXPECT_GT(last.heard->prompt_pieces.size(), 100u);
  EXPECT_EQ(last.heard->prompt_pieces.back(), 5000);
}

// A model that has no logits for one token.
class Faulty final : public runtime::FakeModel {
 public:
  using FakeModel::FakeModel;
  void fill(int32_t id, std::span<float> row) const override {
    FakeModel::fill(id, row);
    if (id == 13) std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
  }
};

TEST(Scheduler, OnlyWhoFailedEnds) {
  const auto model = std::make_shared<Faulty>(
      1000, 50, runtime::FakeModel::Options{.capabilities = {.many_sequences = true}});
  Scheduler scheduler(model, demo().tokenizer, {});
  Request request{{10}, {}};
  request.options.max_tokens = 30;
  const Asked failing = ask(scheduler, request);
  request.prompt = {14};
  const Asked fine = ask(scheduler, request);
  EXPECT_EQ(failing.heard->error(), "the model gave NaN as the logit of token 0 of 50");
  EXPECT_EQ(failing.heard->ids, (Ids{11, 12, 13}));
  EXPECT_EQ(fine.heard->wait().reason, StopReason::MaxTokens);
  EXPECT_EQ(fine.heard->error(), "");
}

TEST(Scheduler, AListenerEndsItsOwnRequestOnly) {
  Scheduler scheduler(many(), demo().tokenizer, {});
  Request request{{1}, {}};
  request.options.max_tokens = 30;
  const auto throwing = std::make_shared<Recorder>(), stopping = std::make_shared<Recorder>();
  throwing->look = [](const Token&) -> bool { throw std::runtime_error("the line is gone"); };
  stopping->look = [](const Token& token) { return token.id < 5; };
  scheduler.submit(request, throwing);
  scheduler.submit(request, stopping);
  const Asked fine = ask(scheduler, request);
  EXPECT_EQ(throwing->error(), "the line is gone");
  EXPECT_EQ(stopping->wait().reason, StopReason::Callback);
  EXPECT_EQ(stopping->ids, (Ids{2, 3, 4, 5}));
  EXPECT_EQ(fine.heard->wait().generated_tokens, 30);
}

// For any pieces of a prompt, and whatever is cached.
TEST(Scheduler, TellsLogprobsOfPrompts) {
  Request request = story(7);
  request.prompt_logprobs = 2;
  request.options.max_tokens = 1;
  const Ids& prompt = request.prompt;
  ASSERT_GT(prompt.size(), 20U);
  const auto sequence = demo().model->new_sequence();
  const std::vector<float> rows = sequence->all_logits(prompt);
  const auto width = static_cast<size_t>(demo().model->vocab_size());
  for (const double step_seconds : {0.1, 1e-9}) {
    Scheduler scheduler = demo_scheduler({.step_seconds = step_seconds});
    for (const int64_t max_tokens : {1, 0, 1}) {
      request.options.max_tokens = max_tokens;
      const Asked asked = ask(scheduler, request);
      EXPECT_EQ(asked.heard->wait().generated_tokens, max_tokens) << asked.heard->error();
      EXPECT_EQ(asked.heard->wait().cached_tokens, 0);
      const auto& told = asked.heard->prompt_logprobs;
      ASSERT_EQ(told.size() + 1, prompt.size());
      for (size_t i = 0; i < told.size(); ++i) {
        const std::span<const float> logits = std::span(rows).subspan(i * width, width);
        const runtime::Logprobs expected = runtime::logprobs_of(logits, prompt[i + 1], 2);
        EXPECT_EQ(told[i].chosen.id, prompt[i + 1]);
        EXPECT_NEAR(told[i].chosen.logprob, expected.chosen.logprob, 1e-3);
        ASSERT_EQ(told[i].top.size(), 2U);
        EXPECT_EQ(told[i].rank == 1, told[i].top[0].id == prompt[i + 1]);
        EXPECT_EQ(told[i].rank == 2, told[i].top[1].id == prompt[i + 1]);
      }
    }
  }
  // A single token has no token before it.
  Scheduler scheduler = demo_scheduler();
  const Asked one = ask(scheduler, {{5}, request.options, 2});
  one.heard->wait();
  EXPECT_TRUE(one.heard->prompt_logprobs.empty());
}

TEST(Scheduler, ItsEndIsTheEndOfAll) {
  std::vector<Asked> all;
  {
    Scheduler scheduler(many(), demo().tokenizer, {.max_running = 2});
    for (int i = 0; i < 4; ++i) all.push_back(ask(scheduler, {{i}, {}}));
    all.front().heard->wait_for_tokens(1);
  }
  for (const Asked& one : all) EXPECT_EQ(one.heard->wait().reason, StopReason::Cancelled);
}

TEST(Scheduler, RefusesWhatItCannotServe) {
  Scheduler scheduler(many(1000), demo().tokenizer,
                      {.max_running = 1, .max_waiting = 2, .cache_tokens = 2 * kBlockTokens});
  const auto heard = std::make_shared<Recorder>();
  const auto refused = [&](Request request) { scheduler.submit(std::move(request), heard); };
  EXPECT_ERROR(refused({Ids(1001, 1), {}}), ErrorCode::LimitExceeded,
               "the prompt has 1001 tokens, the model's context holds 1000");
  EXPECT_ERROR(refused({Ids(500, 1), {}}), ErrorCode::LimitExceeded,
               "the prompt has 500 tokens, the memory for caches holds 128");
  EXPECT_EQ(scheduler.max_prompt(), 128);
  EXPECT_EQ(Scheduler(many(1000), demo().tokenizer, {}).max_prompt(), 1000);
  EXPECT_ERROR(refused({{}, {}}), ErrorCode::InvalidArgument, "no tokens to feed");
  EXPECT_ERROR(refused({{50}, {}}), ErrorCode::InvalidArgument, "50");
  Request odd{{1}, {}};
  odd.options.sampling.top_p = 2;
  EXPECT_ERROR(refused(odd), ErrorCode::InvalidArgument, "top_p is 2");
  Request shifting{{1}, {}};
  shifting.options.overflow = runtime::Overflow::Shift;
  EXPECT_ERROR(refused(shifting), ErrorCode::Unsupported, "ends where its context does");
  EXPECT_FALSE(heard->has_ended());
}

TEST(Scheduler, ReadsAPromptThatWantsNoToken) {
  Scheduler scheduler(many(), demo().tokenizer, {});
  Request request{{1, 2, 3}, {}};
  request.options.max_tokens = 0;
  const Asked asked = ask(scheduler, request);
  EXPECT_EQ(asked.heard->wait().reason, StopReason::MaxTokens);
  EXPECT_EQ(asked.heard->error(), "");
  EXPECT_TRUE(asked.heard->ids.empty());
}

TEST(Scheduler, AQueueHasAnEnd) {
  const auto model = std::make_shared<runtime::FakeModel>(1'000'000'000, 50);
  Scheduler scheduler(model, demo().tokenizer, {.max_waiting = 2});
  std::vector<Asked> all{ask(scheduler, {{1}, {}})};
  all.front().heard->wait_for_tokens(1);
  for (int i = 0; i < 2; ++i) all.push_back(ask(scheduler, {{1}, {}}));
  EXPECT_ERROR(ask(scheduler, {{1}, {}}), ErrorCode::LimitExceeded,
               "2 requests wait already, the most that may");
}

}  // namespace
}  // namespace pippin::scheduling
