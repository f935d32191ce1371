#include "pippin/base/threads/fork.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/fork_testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/base/threads/worker.h"

namespace pippin {
namespace {

int64_t sum_of_parts(ThreadPool& pool, int rounds) {
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < rounds; ++i) pool.run([&](int part, int) { sum += part + 1; });
  return sum;
}

TEST(Fork, APoolStartsItsWorkersAgain) {
  PIPPIN_SKIP_FORKS;
  ThreadPool pool(4);
  EXPECT_EQ(sum_of_parts(pool, 100), 1000);
  EXPECT_TRUE(is_true_in_child([&] {
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> helped{false};
    while (!helped) {
      pool.run([&](int, int) {
        if (std::this_thread::get_id() != caller) helped = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
    if (sum_of_parts(pool, 1000) != 10000) return false;
    // A grandchild, too.
    return is_true_in_child([&] { return sum_of_parts(pool, 1000) == 10000; }) &&
           sum_of_parts(pool, 10) == 100;
  }));
  EXPECT_EQ(sum_of_parts(pool, 100), 1000);
}

TEST(Fork, AFolderIsTheParents) {
  PIPPIN_SKIP_FORKS;
  auto folder = std::make_unique<TemporaryFolder>("fork");
  const std::filesystem::path path = folder->path();
  EXPECT_TRUE(is_true_in_child([&] {
    folder.reset();
    return std::filesystem::exists(path);
  }));
  EXPECT_TRUE(std::filesystem::exists(path));
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Fork, APoolMayGoInAChild) {
  PIPPIN_SKIP_FORKS;
  auto pool = std::make_unique<ThreadPool>(3);
  sum_of_parts(*pool, 10);
  EXPECT_TRUE(is_true_in_child([&] {
    pool.reset();
    ThreadPool another(3);
    return sum_of_parts(another, 10) == 60;
  }));
}

// Another thread is in the middle of a run.
TEST(Fork, APoolThatIsBusyIsFreeInAChild) {
  PIPPIN_SKIP_FORKS;
  ThreadPool pool(3);
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0};
  std::thread other([&] {
    pool.run([&](int, int) {
      ++begun;
      while (!stop) std::this_thread::yield();
    });
  });
  while (begun < 3) std::this_thread::yield();
  EXPECT_TRUE(is_true_in_child([&] { return sum_of_parts(pool, 100) == 600; }));
  stop = true;
  other.join();
  EXPECT_EQ(sum_of_parts(pool, 100), 600);
}

TEST(ForkMutex, KeepsOthersOut) {
  ForkMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20000; ++k) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 80000);
  EXPECT_FALSE(mutex.take_abandoned());
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
}

// Runs `check` in a child while another thread is inside `hold`.
template <typename Hold>
bool is_true_while_held(Hold&& hold, const std::function<bool()>& check) {
  std::atomic<bool> inside{false}, stop{false};
  std::thread other([&] {
    hold([&] {
      inside = true;
      while (!stop) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const bool result = is_true_in_child(check);
  stop = true;
  other.join();
  return result;
}

TEST(ForkMutex, IsFreeInAChildAndSaysSo) {
  PIPPIN_SKIP_FORKS;
  ForkMutex mutex;
  EXPECT_TRUE(is_true_while_held(
      [&](const auto& wait) {
        const std::lock_guard lock(mutex);
        wait();
      },
      [&] {
        const std::lock_guard lock(mutex);
        return mutex.take_abandoned() && !mutex.take_abandoned() && !mutex.try_lock();
      }));
  const std::lock_guard lock(mutex);
  EXPECT_FALSE(mutex.take_abandoned());
}

TEST(ForkGuarded, WhatWasBeingChangedIsNewInAChild) {
  PIPPIN_SKIP_FORKS;
  ForkGuarded<std::vector<int>> left, changed;
  left.access()->push_back(1);
  changed.access()->push_back(1);
  EXPECT_TRUE(is_true_while_held(
      [&](const auto& wait) {
        const auto values = changed.access();
        values->push_back(2);
        wait();
      },
      [&] { return left.access()->size() == 1 && changed.access()->empty(); }));
  EXPECT_EQ(changed.access()->size(), 2U);
}

TEST(Fork, TheLogIsFreeInAChild) {
  PIPPIN_SKIP_FORKS;
  std::function<void()> in_sink;
  std::string last;
  const LogScope log(LogLevel::Info, [&](LogLevel, std::string_view line) {
    last = line;
    if (in_sink && line == "wait") in_sink();
  });
  const CallContext& call = CallContext::current();
  EXPECT_TRUE(is_true_while_held(
      [&](const auto& wait) {
        const ContextScope scope(call);
        in_sink = wait;
        log_info("wait");
      },
      [&] {
        log_info("child");
        return last == "child";
      }));
}

TEST(TurnLock, NobodyIsKeptOutByOneWhoComesBack) {
  TurnLock lock;
  std::atomic<bool> stop{false}, begun{false};
  std::thread greedy([&] {
    while (!stop) {
      const std::lock_guard guard(lock);
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  while (!begun) std::this_thread::yield();
  // With an unfair lock this would take very long.
  for (int i = 0; i < 20; ++i) const std::lock_guard guard(lock);
  stop = true;
  greedy.join();
}

TEST(TurnLock, WaitingCanBeCancelled) {
  TurnLock lock;
  CancelToken token;
  std::atomic<int> had{0};
  std::vector<std::thread> threads;
  lock.lock();
  for (int i = 0; i < 5; ++i) {  // the second and the last are cancelled
    threads.emplace_back([&, i] {
      if (i % 3 != 1) {
        const std::lock_guard guard(lock);
        ++had;
        return;
      }
      const CancelScope scope(token);
      EXPECT_ERROR(lock.lock_unless_cancelled(), ErrorCode::Cancelled, "cancelled");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // most likely in this order
  }
  token.request();
  threads[1].join();
  threads[4].join();
  EXPECT_EQ(had, 0);
  lock.unlock();
  for (const int i : {0, 2, 3}) threads[static_cast<size_t>(i)].join();
  EXPECT_EQ(had, 3);

  // An uncontended lock ignores cancellation.
  const CancelScope scope(token);
  lock.lock_unless_cancelled();
  lock.unlock();
}

// A thread that is cancelled at the moment it gets the lock has the lock.
TEST(TurnLock, IsLostByNobodyWhoIsCancelled) {
  TurnLock lock;
  std::vector<std::thread> threads;
  int64_t count = 0;  // changed by the lock's holder
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 40; ++turn) {
        CancelToken token;
        std::thread canceller([&] { token.request(); });
        try {
          const CancelScope scope(token);
          lock.lock_unless_cancelled();
          ++count;
          std::this_thread::sleep_for(std::chrono::milliseconds(turn % 3 * 5));
          lock.unlock();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::Cancelled);
        }
        canceller.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(count, 0);
  const std::lock_guard guard(lock);
}

TEST(TurnLock, IsFreeInAChild) {
  PIPPIN_SKIP_FORKS;
  TurnLock lock;
  EXPECT_TRUE(is_true_while_held(
      [&](const auto& wait) {
        const std::lock_guard guard(lock);
        wait();
      },
      [&] {
        for (int i = 0; i < 3; ++i) const std::lock_guard guard(lock);
        return true;
      }));
}

// In a child, a job is complete or has not begun.
TEST(Fork, NoJobIsOnItsWay) {
  PIPPIN_SKIP_FORKS;
  Worker worker;
  std::vector<int> values(2, 0);
  uint64_t last = 0;
  for (int i = 0; i < 40; ++i) {
    last = worker.add([&] {
      ++values[0];
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++values[1];
    });
  }
  EXPECT_TRUE(is_true_in_child([&] {
    if (values[0] != values[1]) return false;
    worker.wait(last);  // runs pending jobs here
    if (values != std::vector<int>{40, 40}) return false;
    worker.wait(worker.add([&] { ++values[0]; }));
    return values[0] == 41;
  }));
  worker.wait_all();
  EXPECT_EQ(values, (std::vector<int>{40, 40}));
}

}  // namespace
}  // namespace pippin
