#include "pippin/batch/claims.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/machine.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr size_t kThreads = 4;

void make_older(const fs::path& path, std::chrono::seconds age) {
  fs::last_write_time(path, fs::last_write_time(path) - age);
}

TEST(Claims, AreOfOneProcessAtATime) {
  const TempDir folder;
  Claims one(folder.path()), other(folder.path());
  EXPECT_EQ(one.take_one({3, 5}), 3U);
  EXPECT_EQ(other.take_one({3, 5}), 5U);
  EXPECT_EQ(other.take_one({3, 5}), std::nullopt);
  one.release(3);
  EXPECT_EQ(other.take_one({3, 5}), 3U);
  other.finish(5);
  EXPECT_EQ(other.list().size(), 1U);
}

TEST(Claims, OfManyThreadsAreEachTakenOnce) {
  const TempDir folder;
  constexpr size_t kPieces = 50;
  std::vector<size_t> numbers(kPieces);
  for (size_t i = 0; i < kPieces; ++i) numbers[i] = i;
  std::atomic<size_t> taken{0}, others{0};
  {
    std::vector<std::unique_ptr<Claims>> claims;
    std::vector<std::thread> threads;
    claims.reserve(kThreads);
    threads.reserve(kThreads);
    for (size_t i = 0; i < kThreads; ++i) claims.push_back(std::make_unique<Claims>(folder.path()));
    for (const auto& one : claims) {
      threads.emplace_back([&] {
        while (one->take_one(numbers)) ++taken;
        for (const ClaimState& state : one->list()) others += state.is_stale ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(taken, kPieces);
  EXPECT_EQ(others, 0U);
  EXPECT_TRUE(Claims(folder.path()).list().empty());
}

TEST(Claims, OfTheDeadAreTakenOver) {
  const TempDir folder;
  write_file(folder / "00000001.1", machine_lines() + "123456\n");  // its lock is free
  write_file(folder / "00000002.4", "elsewhere\nboot\n7\n");
  Claims living(folder.path());
  ASSERT_EQ(living.take_one({3}), 3U);
  Claims claims(folder.path());
  EXPECT_EQ(claims.take_one({1, 2, 3}), std::nullopt);  // all are young
  for (const char* name : {"00000001.1", "00000002.4", "00000003.1"})
    make_older(folder / name, 30s);
  EXPECT_EQ(claims.take_one({1, 2, 3}), 1U);
  EXPECT_EQ(claims.take_one({1, 2, 3}), std::nullopt);
  make_older(folder / "00000002.4", 31s);
  make_older(folder / "00000003.1", 31s);
  const std::vector<ClaimState> seen = claims.list();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[1].host, "elsewhere");
  EXPECT_EQ(seen[1].pid, 7);
  EXPECT_TRUE(seen[1].is_stale);
  std::atomic<int> takers{0};
  std::vector<std::unique_ptr<Claims>> racing;
  std::vector<std::thread> threads;
  racing.reserve(kThreads);
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) racing.push_back(std::make_unique<Claims>(folder.path()));
  for (const auto& one : racing) {
    threads.emplace_back([&] {
      while (one->take_one({2, 3})) ++takers;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(takers, 2);
}

TEST(Claims, AreRenewed) {
  const TempDir folder;
  Claims claims(folder.path(), {.beat = 0ms, .stale = 60s});
  ASSERT_EQ(claims.take_one({0}), 0U);
  make_older(folder / "00000000.1", 100s);
  EXPECT_TRUE(claims.list().front().is_stale);
  claims.beat();
  EXPECT_LT(claims.list().front().age, 50);
}

}  // namespace
}  // namespace pippin::batch
