// The filters and penalties of mlx-lm's sample_utils with its meanings, where the sampling chain of
// the library has others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::python {

using runtime::LogitsProcessor;

struct MlxSampling {
  double temperature = 0;          // 0: always the most likely token
  double top_p = 0;                // keep the fewest tokens whose probabilities sum to this; 0: all
  double min_p = 0;                // drop tokens less likely than this times the most likely one
  int64_t min_tokens_to_keep = 1;  // whatever min_p says
  int64_t top_k = 0;
  double xtc_probability = 0, xtc_threshold = 0;
  std::vector<int32_t> xtc_special_tokens;  // are never excluded

  // Throws InvalidArgument for a number out of its range.
  void check() const;
};

// Filters of the probabilities as they are without temperature, in mlx-lm's order; temperature
// comes behind them. None at temperature 0.
std::vector<std::shared_ptr<const LogitsProcessor>> make_filters(const MlxSampling& options);

// What was read and written counts, the last `size` tokens of it; 0: all.
enum class Penalty : uint8_t {
  Repetition,  // scores are divided by it, negative ones multiplied
  Presence,    // subtracted once
  Frequency,   // subtracted for each time
};
std::shared_ptr<const LogitsProcessor> make_penalty(Penalty kind, double penalty, int64_t size);

}  // namespace pippin::python
