#include "pippin/runtime/benchmark.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/fake_model.h"

namespace pippin::runtime {
namespace {

TEST(Benchmark, Percentiles) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.9), 10);
  EXPECT_EQ(percentile({3, 1, 2}, 0), 1);
  EXPECT_EQ(percentile({3, 1, 2}, 1), 3);
}

TEST(Benchmark, FeedsWhatTheCasesSay) {
  const auto model = std::make_shared<FakeModel>(64, 100);
  BenchmarkOptions options;
  options.prompts = {5, 20};
  options.tokens = 3;
  options.depths = {0, 40};
  options.repetitions = 2;
  std::vector<int64_t> positions;
  model->before_forward = [&](int64_t position) { positions.push_back(position); };
  int readings = 0;
  options.machine = [&] { return MachineReading{double(++readings), 10}; };
  double used = 0;
  options.joules = [&] { return std::optional(used += 2); };
  const auto cases = run_benchmark(*model, options);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].name(), "pp5");
  EXPECT_EQ(cases[2].name(), "tg3");
  EXPECT_EQ(cases[3].name(), "tg3 @ d40");
  const std::vector<int64_t> once = {0, 0, 0, 1, 2, 0, 40, 41, 42};
  auto twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(positions, twice);
  EXPECT_EQ(readings, 9);  // one before the first and one after each of 8 samples
  for (const BenchmarkCase& one : cases) {
    ASSERT_EQ(one.samples.size(), 2u);
    EXPECT_EQ(one.samples[0].joules, 2);
    EXPECT_EQ(one.samples[0].token_seconds.size(),
              one.kind == BenchmarkCase::Kind::Decode ? 3u : 0u);
  }
  EXPECT_EQ(cases[0].samples[0].machine.bytes_per_second, 1.5);
  EXPECT_EQ(cases[3].samples[1].machine.bytes_per_second, 8.5);
}

TEST(Benchmark, SequencesTogether) {
  const auto model = std::make_shared<FakeModel>(
      64, 100, FakeModel::Options{.capabilities = {.many_sequences = true}});
  BenchmarkOptions options;
  options.tokens = 3;
  options.depths = {0, 10};
  options.parallel = {1, 4};
  options.repetitions = 2;
  const auto cases = run_benchmark(*model, options);
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_EQ(cases[1].name(), "tg3 x4");
  EXPECT_EQ(cases[3].name(), "tg3 x4 @ d10");
  for (const BenchmarkCase& one : cases) {
    ASSERT_EQ(one.samples.size(), 2U);
    EXPECT_EQ(one.samples[0].token_seconds.size(), 3U);
    EXPECT_GT(one.samples[0].seconds, 0);
  }
  EXPECT_EQ(std::ssize(model->fed), 2 * (3 + 4 * 3 + 10 + 3 + 4 * (10 + 3)));
  const BenchmarkCase measured{
      BenchmarkCase::Kind::Decode, 2, 0, {{0.5, 0, {0.2, 0.3}, {100, 0}, 4.0}}, 4};
  const CaseSummary summary = summarize(measured, {5, 0});
  EXPECT_DOUBLE_EQ(summary.tokens_per_second.mean, 16);
  EXPECT_DOUBLE_EQ(summary.tokens_over_elapsed, 16);
  EXPECT_DOUBLE_EQ(summary.milliseconds_per_token.mean, 250);
  EXPECT_DOUBLE_EQ(summary.median_share, 0.8);  // 8 tokens of 5 bytes in 0.5 s of 100 B/s
  EXPECT_DOUBLE_EQ(summary.joules_per_token.value(), 0.5);

  const auto single = std::make_shared<FakeModel>(64, 100);
  EXPECT_ERROR(run_benchmark(*single, options), ErrorCode::Unsupported,
               "this model holds one sequence, not");
  options.parallel = {0};
  EXPECT_ERROR(run_benchmark(*model, options), ErrorCode::InvalidArgument,
               "0 sequences together: must be 1 to");
}

TEST(Benchmark, SameSeedSameTokens) {
  BenchmarkOptions options;
  options.prompts = {30};
  options.repetitions = 1;
  const auto first = std::make_shared<FakeModel>(64, 1000);
  const auto second = std::make_shared<FakeModel>(64, 1000);
  const auto other = std::make_shared<FakeModel>(64, 1000);
  run_benchmark(*first, options);
  run_benchmark(*second, options);
  options.seed = 2;
  run_benchmark(*other, options);
  EXPECT_EQ(first->fed, second->fed);
  EXPECT_NE(first->fed, other->fed);
}

TEST(Benchmark, RefusesWhatDoesNotFit) {
  const auto model = std::make_shared<FakeModel>(64, 10);
  const auto refuses = [&](const BenchmarkOptions& options, const char* part) {
    EXPECT_ERROR(warm_up(*model, options), ErrorCode::InvalidArgument, part);
  };
  warm_up(*model, {.prompts = {64}, .tokens = 4, .depths = {60}});
  refuses({.prompts = {65}}, "pp65 needs 65 tokens of context, the model has 64");
  refuses({.tokens = 5, .depths = {60}}, "needs 65");
  refuses({.tokens = INT64_MAX, .depths = {INT64_MAX}}, "tokens of context, the model has 64");
  refuses({.prompts = {0}}, "0 tokens at depth 0: out of range");
  refuses({.prompts = {1}, .repetitions = 0}, "0 repetitions: at least 1");
  refuses({}, "nothing to measure");
}

TEST(Benchmark, SummaryOfADecode) {
  BenchmarkCase measured{BenchmarkCase::Kind::Decode, 2, 0, {}};
  measured.samples.push_back({0.4, 0, {0.1, 0.3}, {100, 0}, 4.0});
  measured.samples.push_back({1.0, 0, {0.5, 0.5}, {80, 0}, 6.0});
  const CaseSummary summary = summarize(measured, {10, 0});
  EXPECT_DOUBLE_EQ(summary.tokens_per_second.mean, (5.0 + 2.0) / 2);
  EXPECT_DOUBLE_EQ(summary.tokens_over_elapsed, 4 / 1.4);
  EXPECT_DOUBLE_EQ(summary.rate_per_token.mean, (10 + 1 / 0.3 + 2 + 2) / 4);
  EXPECT_DOUBLE_EQ(summary.milliseconds_per_token.mean, 350);
  EXPECT_DOUBLE_EQ(summary.median_milliseconds, 400);
  // 2 tokens of 10 bytes in 0.4 s of 100 B/s: 0.5; in 1 s of 80: 0.25.
  EXPECT_DOUBLE_EQ(summary.median_share, 0.375);
  EXPECT_DOUBLE_EQ(summary.median_bytes_per_second, 90);
  EXPECT_DOUBLE_EQ(summary.joules_per_token.value(), 2.5);
  EXPECT_DOUBLE_EQ(summary.watts.value(), 10 / 1.4);
}

TEST(Benchmark, SummaryOfAPrefill) {
  BenchmarkCase measured{BenchmarkCase::Kind::Prefill, 100, 0, {}};
  measured.samples.push_back({0.5, 0.6, {}, {0, 4000}, std::nullopt});
  const CaseSummary summary = summarize(measured, {10, 10});
  EXPECT_DOUBLE_EQ(summary.median_share, 0.5);
  EXPECT_DOUBLE_EQ(summary.median_first_token_milliseconds, 600);
  EXPECT_EQ(summary.tokens_per_second.deviation, 0);
  EXPECT_FALSE(summary.watts.has_value());
}

}  // namespace
}  // namespace pippin::runtime
