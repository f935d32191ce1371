#include "pippin/base/threads/worker.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"

namespace pippin {
namespace {

TEST(Worker, DoesJobsInOrder) {
  Worker worker;
  std::vector<int> done;
  uint64_t middle = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t number = worker.add([&done, i] { done.push_back(i); });
    EXPECT_EQ(number, static_cast<uint64_t>(i) + 1);
    if (i == 50) middle = number;
  }
  worker.wait(middle);
  worker.wait_all();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  worker.wait(0);  // not a job
}

TEST(Worker, EndsWhenAllIsDone) {
  std::atomic<int> done{0};
  {
    Worker worker;
    for (int i = 0; i < 10; ++i) {
      worker.add([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 10);
}

TEST(Worker, WhatAJobThrowsIsThrownOnce) {
  Worker worker;
  const uint64_t number = worker.add([] { fail(ErrorCode::InvalidFile, "a job"); });
  EXPECT_ERROR(worker.wait(number), ErrorCode::InvalidFile, "a job");
  worker.wait(number);
  worker.add([] { fail(ErrorCode::InvalidFile, "another"); });
  worker.wait_all();
  worker.wait(worker.add([] {}));
}

// A job may outlive the call and its token.
TEST(Worker, AJobLogsForItsCallAndIsNotCancelledWithIt) {
  Worker worker;
  std::vector<std::string> lines;
  std::atomic<bool> go{false};
  uint64_t number = 0;
  {
    CancelToken token;
    const CancelScope scope(token);
    const LogScope log(LogLevel::Info,
                       [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    number = worker.add([&] {
      while (!go) std::this_thread::yield();
      check_cancel();
      log_info("done");
    });
    token.request();
  }
  go = true;
  worker.wait(number);
  EXPECT_EQ(lines, (std::vector<std::string>{"done"}));
}

}  // namespace
}  // namespace pippin
