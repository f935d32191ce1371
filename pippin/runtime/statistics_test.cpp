#include "pippin/runtime/statistics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

TEST(Statistics, DeviationIsOfASample) {
  const auto result = mean_deviation(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(result.mean, 5);
  EXPECT_DOUBLE_EQ(result.deviation, std::sqrt(32.0 / 7));
}

TEST(Statistics, FewValuesHaveNoDeviation) {
  EXPECT_EQ(mean_deviation({}).mean, 0);
  EXPECT_EQ(mean_deviation({}).deviation, 0);
  EXPECT_EQ(mean_deviation(std::vector<double>{3}).mean, 3);
  EXPECT_EQ(mean_deviation(std::vector<double>{3}).deviation, 0);
}

TEST(Statistics, RatesAreMeansOfInverses) {
  Timings timings;
  timings.prompt_tokens = 30;
  timings.prompt_seconds = 0.5;
  timings.token_seconds = {0.1, 0.2, 0.4};
  timings.generate_seconds = 0.75;
  const Statistics result = summarize(timings);
  EXPECT_NEAR(result.milliseconds_per_token.mean, 700.0 / 3, 1e-9);
  EXPECT_NEAR(result.milliseconds_per_token.deviation, std::sqrt(140000.0 / 6), 1e-9);
  EXPECT_NEAR(result.tokens_per_second.mean, 17.5 / 3, 1e-9);
  EXPECT_NEAR(result.tokens_per_second.deviation, 3.8188130791, 1e-9);  // of 10, 5, 2.5
  EXPECT_NEAR(result.tokens_over_elapsed, 4, 1e-9);
  EXPECT_NEAR(result.prompt_tokens_per_second, 60, 1e-9);
  EXPECT_GE(result.tokens_per_second.mean, result.tokens_over_elapsed);
}

TEST(Statistics, NothingMeasuredIsZero) {
  const Statistics result = summarize({});
  EXPECT_EQ(result.milliseconds_per_token.mean, 0);
  EXPECT_EQ(result.tokens_per_second.mean, 0);
  EXPECT_EQ(result.tokens_over_elapsed, 0);
  EXPECT_EQ(result.prompt_tokens_per_second, 0);
}

}  // namespace
}  // namespace pippin::runtime
