#include "pippin/runtime/statistics.h"

#include <cmath>
#include <numeric>

namespace pippin::runtime {

MeanDeviation mean_deviation(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  MeanDeviation result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

Statistics summarize(const Timings& timings) {
  std::vector<double> milliseconds, rates;
  for (const double seconds : timings.token_seconds) {
    milliseconds.push_back(seconds * 1000);
    if (seconds > 0) rates.push_back(1 / seconds);
  }
  Statistics result;
  result.milliseconds_per_token = mean_deviation(milliseconds);
  result.tokens_per_second = mean_deviation(rates);
  if (timings.generate_seconds > 0) {
    result.tokens_over_elapsed =
        static_cast<double>(timings.token_seconds.size()) / timings.generate_seconds;
  }
  if (timings.prompt_seconds > 0) {
    result.prompt_tokens_per_second =
        static_cast<double>(timings.prompt_tokens) / timings.prompt_seconds;
  }
  return result;
}

}  // namespace pippin::runtime
