// Requests to a model that has several steps in flight.
#include "pippin/runtime/steps_in_flight.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/row_model_testing.h"
#include "pippin/scheduling/scheduler.h"

namespace pippin::scheduling {
namespace {

using runtime::StopReason;

// Computes steps when they are finished.
class FlyingModel final : public RowModel, public runtime::StepsInFlight {
 public:
  explicit FlyingModel(size_t most) : RowModel(1000, 50, Keeps::Rows), steps_(most) {}

  std::function<void()> before_start, before_finish;
  std::vector<size_t> in_flight;  // by step, when it was started
  std::vector<size_t> sizes;      // of steps

  int64_t most_in_flight() const override { return std::ssize(steps_); }
  std::optional<size_t> start_step(std::span<runtime::Sequence* const> sequences) override {
    if (before_start) before_start();
    const auto free = std::find(steps_.begin(), steps_.end(), false);
    if (free == steps_.end()) return std::nullopt;
    *free = true;
    in_flight.push_back(static_cast<size_t>(std::count(steps_.begin(), steps_.end(), true)));
    sizes.push_back(sequences.size());
    return free - steps_.begin();
  }
  void finish_step(size_t step, std::span<runtime::Sequence* const> sequences) override {
    steps_.at(step) = false;
    if (before_finish) before_finish();
    feed_together(sequences);
  }

 private:
  std::vector<bool> steps_;
};

struct Asking {
  Ids prompt;
  int64_t tokens;
  Asked asked = {};
};

Asking number(int i) {
  Ids prompt(static_cast<size_t>(1 + 37 * i % 90), 7);  // all begin alike
  prompt.back() = i;
  return {prompt, 20 + 11 * i % 30};
}

void submit(Scheduler& scheduler, Asking& one, bool in_background = false) {
  Request request{one.prompt, {}};
  request.options.max_tokens = one.tokens;
  request.in_background = in_background;
  one.asked = ask(scheduler, std::move(request));
}

void expect_text(const RowModel& model, const Asking& one) {
  EXPECT_EQ(one.asked.heard->error(), "");
  EXPECT_EQ(one.asked.heard->ids, expected_of(model, one.prompt, one.tokens));
}

TEST(StepsInFlight, ChangeNoText) {
  for (size_t most = 1; most <= 4; ++most) {
    for (int lanes = 1; lanes <= 9; ++lanes) {
      const auto model = std::make_shared<FlyingModel>(most);
      SchedulerOptions options{.max_running = lanes, .cache_ram = lanes % 2 == 0 ? kPlenty : 0};
      if (lanes % 3 == 0) options.cache_tokens = 4 * kBlockTokens;  // too few for all
      if (lanes % 4 == 0) options.step_seconds = 1e-9;
      Scheduler scheduler(model, tokenizer(), options);
      std::vector<Asking> all;
      for (int i = 0; i < 12; ++i) {
        all.push_back(number(i));
        submit(scheduler, all.back(), i % 5 == 1);
      }
      for (const Asking& one : all) expect_text(*model, one);
      wait_until_idle(scheduler);
      const size_t reached =
          most == 1 ? 1 : *std::max_element(model->in_flight.begin(), model->in_flight.end());
      const size_t possible = std::min(most, static_cast<size_t>(lanes));
      EXPECT_LE(reached, possible);
      if (lanes % 3 != 0) {
        EXPECT_EQ(reached, possible) << most << ", " << lanes;
      }
    }
  }
}

// Nine sequences in four steps: three, two, two and two; fewer when sequences end, evenly.
TEST(StepsInFlight, AreEquallyLarge) {
  const auto model = std::make_shared<FlyingModel>(4);
  std::mutex gate;
  gate.lock();  // until all have been submitted
  model->before_feed = [&] { const std::lock_guard lock(gate); };
  Scheduler scheduler(model, tokenizer(), {.cache_ram = 0});
  std::vector<Asking> all;
  for (int i = 0; i < 9; ++i) {
    all.push_back({{i + 1}, i < 5 ? 20 : 60});
    submit(scheduler, all.back());
  }
  gate.unlock();
  for (const Asking& one : all) expect_text(*model, one);
  wait_until_idle(scheduler);
  // Prompts begin one after another; sequences end at almost the same time.
  const auto count = [&](size_t begin, size_t end, size_t size) {
    return std::count(model->sizes.begin() + static_cast<std::ptrdiff_t>(begin),
                      model->sizes.begin() + static_cast<std::ptrdiff_t>(end), size);
  };
  EXPECT_EQ(count(30, 50, 2), 15);
  EXPECT_EQ(count(30, 50, 3), 5);
  const size_t last = model->sizes.size();
  EXPECT_EQ(count(last - 60, last - 20, 1), 40);
}

TEST(StepsInFlight, AreRepeatedAloneAfterAFailure) {
  for (const bool at_start : {true, false}) {
    for (const bool is_error : {true, false}) {
      const auto model = std::make_shared<FlyingModel>(3);
      int calls = 0;
      (at_start ? model->before_start : model->before_finish) = [&] {
        if (++calls % 10 != 0) return;
        if (is_error) fail(ErrorCode::Internal, "a step is lost");
        throw std::bad_alloc();
      };
      Scheduler scheduler(model, tokenizer(), {});
      std::vector<Asking> all;
      for (int i = 0; i < 7; ++i) {
        all.push_back(number(i));
        submit(scheduler, all.back());
      }
      for (const Asking& one : all) expect_text(*model, one);
      EXPECT_GT(calls, 20);
    }
  }
}

// Those in the background give their places back, in flight or not.
TEST(StepsInFlight, EndBeforeASequenceIsTakenAway) {
  const auto model = std::make_shared<FlyingModel>(2);
  Scheduler scheduler(model, tokenizer(), {.max_running = 3});
  std::vector<Asking> low;
  for (int i = 0; i < 3; ++i) {
    low.push_back({{i + 1, 2}, 400});
    submit(scheduler, low.back(), true);
  }
  for (int i = 0; i < 6; ++i) {
    low.front().asked.heard->wait_for_tokens(static_cast<size_t>(10 * i + 1));
    Asking quick = number(i);
    submit(scheduler, quick);
    expect_text(*model, quick);
  }
  EXPECT_GE(scheduler.state().preempted, 1U);
  for (const Asking& one : low) expect_text(*model, one);
}

TEST(StepsInFlight, EndWithTheScheduler) {
  const auto model = std::make_shared<FlyingModel>(3);
  std::vector<Asking> all;
  {
    Scheduler scheduler(model, tokenizer(), {});
    for (int i = 0; i < 5; ++i) {
      all.push_back({{i + 1}, 900});
      submit(scheduler, all.back());
    }
    all.back().asked.heard->wait_for_tokens(3);
  }
  for (const Asking& one : all) {
    EXPECT_EQ(one.asked.heard->wait().reason, StopReason::Cancelled);
    const Ids want = expected_of(*model, one.prompt, std::ssize(one.asked.heard->ids));
    EXPECT_EQ(one.asked.heard->ids, want);
  }
}

}  // namespace
}  // namespace pippin::scheduling
