// The times of one generation, and the statistics that are reported of them.
//
// The mean and sample standard deviation of the time per token, and of its inverse, are
// coreml-llm-cli's numbers: the mean of rates is at least tokens over elapsed time, so that is
// given beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

struct MeanDeviation {
  double mean = 0;
  double deviation = 0;  // of a sample: divided by n - 1; 0 for fewer than two
};
PIPPIN_API MeanDeviation mean_deviation(std::span<const double> values);

struct Timings {
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;       // for the forward passes over the prompt
  double first_token_seconds = 0;  // from the start until the first token is known
  // One per token after the first: a forward pass and the choice of the token from its logits. Of a
  // pass that gave several, an equal part each.
  std::vector<double> token_seconds;
  // From the first token to the last, including what the caller does with each.
  double generate_seconds = 0;
};

struct Statistics {
  MeanDeviation milliseconds_per_token;
  MeanDeviation tokens_per_second;  // of the inverse of each token's time
  double tokens_over_elapsed = 0;   // per second
  double prompt_tokens_per_second = 0;
};
// Zeros where nothing was measured.
PIPPIN_API Statistics summarize(const Timings& timings);

}  // namespace pippin::runtime
