// Requests to a scheduler with a prompt cache.

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/row_model_testing.h"

namespace pippin::scheduling {
namespace {

using runtime::StopReason;
using Keeps = RowModel::Keeps;

std::shared_ptr<RowModel> row_model(Keeps keeps = Keeps::Rows) {
  return std::make_shared<RowModel>(4000, 64, keeps);
}

Request request_of(Ids prompt, int64_t max_tokens) {
  Request request{std::move(prompt), {}};
  request.options.max_tokens = max_tokens;
  return request;
}

Ids random_ids(std::mt19937_64& random, size_t count) {
  Ids ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % 64);
  return ids;
}

class CachedRequests : public testing::TestWithParam<Keeps> {};

// One after the other, each the next turn of a conversation.
TEST_P(CachedRequests, ReadOnlyWhatIsNew) {
  const auto model = row_model(GetParam());
  Scheduler scheduler(model, tokenizer(), {.cache_ram = kPlenty});
  std::mt19937_64 random(1);
  Ids prompt = random_ids(random, 500);
  int64_t before = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const int64_t fed = model->fed;
    const Asked asked = ask(scheduler, request_of(prompt, 30));
    const Outcome& outcome = asked.heard->wait();
    ASSERT_EQ(asked.heard->error(), "");
    EXPECT_EQ(asked.heard->ids, expected_of(*model, prompt, 30));
    EXPECT_EQ(outcome.cached_tokens, before);
    EXPECT_EQ(asked.heard->prompt_pieces.back(), std::ssize(prompt));
    wait_until_idle(scheduler);
    EXPECT_EQ(model->fed - fed, std::ssize(prompt) - before + 29);
    prompt.insert(prompt.end(), asked.heard->ids.begin(), asked.heard->ids.end());
    before = std::ssize(prompt) - 1;  // the last token was not fed
    const Ids more = random_ids(random, 20);
    prompt.insert(prompt.end(), more.begin(), more.end());
  }
  const CacheState cache = wait_until_idle(scheduler).cache;
  EXPECT_EQ(cache.hits, 3U);
  EXPECT_EQ(cache.misses, 1U);
  EXPECT_GT(cache.reused_tokens, 1500U);
  EXPECT_EQ(cache.looked_up_tokens, 500U + 550 + 600 + 650);
  EXPECT_GT(cache.ram_bytes, 0);
  EXPECT_EQ(cache.ram_limit, kPlenty);
}

// Also with little memory for sequences, so that some are preempted, and a small cache.
TEST_P(CachedRequests, SixteenAtOnceGetTheirOwn) {
  const TempDir folder;
  for (const int64_t ram : {int64_t{0}, int64_t{40'000}, kPlenty}) {
    for (const bool is_tight : {false, true}) {
      const auto model = row_model(GetParam());
      Scheduler scheduler(model, tokenizer(),
                          {.cache_tokens = is_tight ? 12 * kBlockTokens : -1,
                           .step_seconds = 1e-9,  // the smallest pieces
                           .cache_ram = ram,
                           .cache_disk = ram == 40'000 ? folder.path() : ""});
      std::mt19937_64 random(2);
      const Ids system = random_ids(random, 150);
      std::vector<Ids> prompts;
      std::vector<Asked> all;
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 16; ++i) {
          Ids prompt = i % 4 == 3 ? random_ids(random, 70) : system;
          const Ids own = random_ids(random, 1 + random() % 40);
          prompt.insert(prompt.end(), own.begin(), own.end());
          if (round == 1 && i % 3 == 0) prompt = prompts[static_cast<size_t>(i)];
          prompts.push_back(prompt);
          all.push_back(ask(scheduler, request_of(prompt, 100)));
        }
        for (size_t i = 0; i < all.size(); ++i) {
          EXPECT_EQ(all[i].heard->wait().reason, StopReason::MaxTokens) << all[i].heard->error();
          EXPECT_EQ(all[i].heard->ids, expected_of(*model, prompts[i], 100)) << i;
        }
      }
      const CacheState cache = wait_until_idle(scheduler).cache;
      EXPECT_LE(cache.ram_bytes, ram);
      // The content of a small cache depends on the order of requests.
      if (ram != 40'000) {
        EXPECT_EQ(cache.hits > 0, ram > 0);
      }
    }
  }
}

// Positions may depend on the length of a text: a prompt longer than the length where they change
// is read in one pass from its first token.
TEST(CachedRequests, OfALengthThatChangesPositions) {
  const auto model = row_model();
  model->row_limit = 100;
  Scheduler scheduler(model, tokenizer(), {.step_seconds = 1e-9, .cache_ram = kPlenty});
  std::mt19937_64 random(5);
  const Ids prompt = random_ids(random, 150);
  ask(scheduler, request_of(Ids(prompt.begin(), prompt.begin() + 90), 1)).heard->wait();
  EXPECT_LT(model->most_at_once, 90);
  for (int i = 0; i < 2; ++i) {
    model->most_at_once = 0;
    const Asked asked = ask(scheduler, request_of(prompt, 3));
    EXPECT_EQ(asked.heard->wait().cached_tokens, 0);
    EXPECT_EQ(model->most_at_once, 150);
    EXPECT_EQ(asked.heard->ids, expected_of(*model, prompt, 3));
  }
}

std::string name_of(const testing::TestParamInfo<Keeps>& kind) {
  return kind.param == Keeps::Rows ? "rows" : kind.param == Keeps::State ? "state" : "both";
}

INSTANTIATE_TEST_SUITE_P(Kinds, CachedRequests,
                         testing::Values(Keeps::Rows, Keeps::State, Keeps::Both), name_of);

// Several choices of one prompt, submitted together.
TEST(CachedRequest, OnePromptIsReadOnce) {
  const auto model = row_model();
  std::mutex gate;
  gate.lock();  // until all have been submitted
  model->before_feed = [&] { const std::lock_guard lock(gate); };
  Scheduler scheduler(model, tokenizer(), {.step_seconds = 1e-9, .cache_ram = kPlenty});
  std::mt19937_64 random(3);
  const Ids prompt = random_ids(random, 1000);
  std::vector<Asked> all;
  all.reserve(4);
  for (int i = 0; i < 4; ++i) all.push_back(ask(scheduler, request_of(prompt, 1)));
  gate.unlock();
  int64_t cached = 0;
  for (const Asked& one : all) {
    cached += one.heard->wait().cached_tokens;
    EXPECT_EQ(one.heard->ids, expected_of(*model, prompt, 1));
  }
  wait_until_idle(scheduler);
  EXPECT_EQ(model->fed, 4 * 1000 - cached);
  EXPECT_LT(model->fed, 1100);
}

TEST(CachedRequest, CancelledOnesLeaveWhatTheyRead) {
  const auto model = row_model();
  Scheduler scheduler(model, tokenizer(), {.cache_ram = kPlenty});
  std::mt19937_64 random(4);
  const Ids prompt = random_ids(random, 300);
  Asked first = ask(scheduler, request_of(prompt, 3000));
  first.heard->wait_for_tokens(5);
  first.job->cancel();
  EXPECT_EQ(first.heard->wait().reason, StopReason::Cancelled);
  wait_until_idle(scheduler);
  const Asked again = ask(scheduler, request_of(prompt, 3));
  EXPECT_EQ(again.heard->wait().cached_tokens, 299);
  EXPECT_EQ(again.heard->ids, expected_of(*model, prompt, 3));
}

TEST(CachedRequest, IsFoundAgainAfterARestart) {
  const TempDir folder;
  std::mt19937_64 random(5);
  const Ids prompt = random_ids(random, 600);
  const auto cached = [&](const std::string& model_name, const std::string& key) {
    const auto model = row_model();
    model->name = model_name;
    Scheduler scheduler(model, tokenizer(),
                        {.cache_ram = kPlenty, .cache_disk = folder.path(), .cache_key = key});
    const Asked asked = ask(scheduler, request_of(prompt, 10));
    asked.heard->wait();
    EXPECT_EQ(asked.heard->ids, expected_of(*model, prompt, 10));
    return asked.heard->wait().cached_tokens;
  };
  EXPECT_EQ(cached("a", ""), 0);
  EXPECT_EQ(cached("a", ""), 599);
  EXPECT_EQ(cached("a", "other template"), 0);
  EXPECT_EQ(cached("b", ""), 0);
  EXPECT_EQ(cached("a", "other template"), 599);
  EXPECT_EQ(cached("b", ""), 599);
}

// A thousand texts, one after the other.
TEST(CachedRequest, MemoryStaysAtItsLimit) {
  const auto model = row_model();
  constexpr int64_t kLimit = 300'000;
  Scheduler scheduler(model, tokenizer(), {.cache_ram = kLimit});
  std::mt19937_64 random(6);
  int64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    const Asked asked = ask(scheduler, request_of(random_ids(random, 100), 5));
    asked.heard->wait();
    most = std::max(most, scheduler.state().cache.ram_bytes);
  }
  EXPECT_LE(most, kLimit);
  EXPECT_GT(most, kLimit * 9 / 10);
  EXPECT_GT(scheduler.state().cache.evicted, 900U);
}

TEST(CachedRequest, SaysAtDebugWhereATextDiffers) {
  std::mutex mutex;
  std::string lines;
  const LogScope log(LogLevel::Debug, [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines += std::string(line) + "\n";
  });
  const auto model = row_model();
  Scheduler scheduler(model, tokenizer(), {.cache_ram = kPlenty});
  Ids prompt(100, 5);
  ask(scheduler, request_of(prompt, 1)).heard->wait();
  prompt[40] = 6;
  ask(scheduler, request_of(prompt, 1)).heard->wait();
  const std::lock_guard lock(mutex);
  const std::string five = tokenizer().decode(Ids{5}), six = tokenizer().decode(Ids{6});
  EXPECT_NE(lines.find("request 1: 0 of 100 prompt tokens cached\n"), lines.npos) << lines;
  EXPECT_NE(
      lines.find("request 2: 40 of 100 prompt tokens cached; first difference at token 40: '" +
                 six + "' instead of '" + five + "'"),
      lines.npos)
      << lines;
}

}  // namespace
}  // namespace pippin::scheduling
