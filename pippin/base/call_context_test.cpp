#include "pippin/base/call_context.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/base/threads/worker.h"

namespace pippin {
namespace {

void expect_cancelled(bool expected) {
  EXPECT_EQ(cancel_requested(), expected);
  try {
    check_cancel();
    EXPECT_FALSE(expected);
  } catch (const Error& error) {
    EXPECT_TRUE(expected);
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
}

TEST(Cancel, EndsWhatIsDoneInsideOfItsScope) {
  CancelToken token;
  token.request();
  expect_cancelled(false);
  {
    const CancelScope scope(token);
    expect_cancelled(true);
    token.reset();
    expect_cancelled(false);
    token.request();
  }
  expect_cancelled(false);
}

TEST(Cancel, AnyOfNestedTokensCounts) {
  CancelToken outer, inner;
  const CancelScope outer_scope(outer);
  {
    const CancelScope inner_scope(inner);
    expect_cancelled(false);
    outer.request();
    expect_cancelled(true);
    outer.reset();
    inner.request();
    expect_cancelled(true);
  }
  expect_cancelled(false);
}

TEST(Cancel, OneThreadsCallIsNotAnothers) {
  CancelToken stopped, other;
  std::atomic<int> rounds{0};
  std::atomic<bool> done{false};
  std::thread first([&] {
    const CancelScope scope(stopped);
    const auto work_on = [&] {
      for (;;) {
        check_cancel();
        ++rounds;
        std::this_thread::yield();
      }
    };
    EXPECT_ERROR(work_on(), ErrorCode::Cancelled, "cancelled");
    done = true;
  });
  const CancelScope scope(other);
  while (rounds == 0) std::this_thread::yield();
  stopped.request();
  while (!done) {
    check_cancel();
    std::this_thread::yield();
  }
  first.join();
  expect_cancelled(false);
}

TEST(Cancel, AProbeIsAskedByItsThreadOnly) {
  struct Probe final : CancelProbe {
    bool wants_cancel() noexcept override {
      ++asked;
      return wants;
    }
    std::atomic<int> asked{0};
    bool wants = false;
  } probe;
  CancelToken token;
  const CancelScope scope(token, &probe);
  EXPECT_FALSE(cancel_requested());
  EXPECT_EQ(probe.asked, 1);
  probe.wants = true;
  ThreadPool pool(2);
  std::atomic<int> cancelled{0};
  const std::thread::id here = std::this_thread::get_id();
  pool.run([&](int, int) {
    if (std::this_thread::get_id() != here && cancel_requested()) ++cancelled;
  });
  EXPECT_EQ(cancelled, 0);
  EXPECT_EQ(probe.asked, 1);
  EXPECT_THROW(check_cancel(), Error);
  probe.wants = false;
  EXPECT_FALSE(cancel_requested());
  token.request();
  EXPECT_TRUE(cancel_requested());
}

TEST(Cancel, ReachesTheWorkersOfAPool) {
  ThreadPool pool(3);
  CancelToken token;
  const auto caller = std::this_thread::get_id();
  // Repeat until a worker has done a part: on a busy machine the caller may do them all.
  std::atomic<bool> seen{false};
  {
    const CancelScope scope(token);
    token.request();
    while (!seen) {
      pool.run([&](int, int) {
        EXPECT_TRUE(cancel_requested());
        if (std::this_thread::get_id() != caller) seen = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
    EXPECT_ERROR(pool.run([](int, int) { check_cancel(); }), ErrorCode::Cancelled, "cancelled");
  }
  pool.run([](int, int) { EXPECT_FALSE(cancel_requested()); });
}

TEST(Log, LinesOfACallGoToItsSink) {
  std::vector<std::string> outer_lines, inner_lines;
  const auto into = [](std::vector<std::string>& lines) {
    return [&lines](LogLevel, std::string_view line) { lines.emplace_back(line); };
  };
  EXPECT_EQ(log_level(), LogLevel::Warn);
  const LogScope outer(LogLevel::Info, into(outer_lines));
  {
    const LogScope inner(LogLevel::Debug, into(inner_lines));
    log_debug("a {}", 1);
    log_choice("dot", "scalar");
    log_choice("dot", "scalar");
    std::thread([] { EXPECT_EQ(log_level(), LogLevel::Warn); }).join();
  }
  log_debug("b");
  log_info("c");
  EXPECT_EQ(inner_lines, (std::vector<std::string>{"a 1", "dot: scalar"}));
  EXPECT_EQ(outer_lines, (std::vector<std::string>{"c"}));
}

TEST(Log, ThreadsOfACallShareItsSink) {
  ThreadPool pool(4);
  size_t lines = 0;  // needs no lock: the sink is called by one thread at a time
  const LogScope scope(LogLevel::Info, [&](LogLevel, std::string_view) { ++lines; });
  for (int i = 0; i < 50; ++i) pool.run([](int part, int) { log_info("{}", part); });
  EXPECT_EQ(lines, 200U);
}

}  // namespace
}  // namespace pippin
