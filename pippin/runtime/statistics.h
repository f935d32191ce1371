// The times of one generation and the statistics reported for it.
//
// The mean and sample standard deviation of the time per token, and of its inverse, are
// coreml-llm-cli's numbers. The mean of the rates is never below tokens over elapsed time, so that
// is reported next to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

// A mean and a standard deviation.
struct MeanDeviation {
  double mean = 0;       // 0 without values
  double deviation = 0;  // sample deviation: divided by n - 1; 0 for fewer than two
};
// Returns the mean and the sample deviation of values.
PIPPIN_API MeanDeviation mean_deviation(std::span<const double> values);

// The times of one generation.
struct Timings {
  // The number of tokens that were fed before the first one was chosen.
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;       // of the forward passes over the prompt
  double first_token_seconds = 0;  // from the start until the first token is known
  // One per token after the first: the time of a forward pass and of choosing the token from its
  // logits. If a pass returned several tokens, each has an equal share.
  std::vector<double> token_seconds;
  // From the first token to the last, including the callbacks.
  double generate_seconds = 0;
};

// The statistics of one generation.
struct Statistics {
  MeanDeviation milliseconds_per_token;  // over Timings::token_seconds
  MeanDeviation tokens_per_second;       // of the inverse of each token's time
  double tokens_over_elapsed = 0;        // per second
  double prompt_tokens_per_second = 0;   // over Timings::prompt_seconds
};
// Returns the statistics; all zero if there are no measurements.
PIPPIN_API Statistics summarize(const Timings& timings);

}  // namespace pippin::runtime
