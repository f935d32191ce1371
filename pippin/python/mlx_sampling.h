// The filters and penalties of mlx-lm's sample_utils, with its semantics where they differ from the
// library's sampling chain.
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
  double min_p = 0;                // even if min_p would drop more
  int64_t min_tokens_to_keep = 1;  // whatever min_p says
  int64_t top_k = 0;
  double xtc_probability = 0, xtc_threshold = 0;
  std::vector<int32_t> xtc_special_tokens;  // never excluded

  // Throws InvalidArgument for a number out of range.
  void check() const;
};

// Filters of the probabilities before temperature, in mlx-lm's order; temperature follows them.
// None at temperature 0.
std::vector<std::shared_ptr<const LogitsProcessor>> make_filters(const MlxSampling& options);

// Applies to the last `size` tokens of prompt and text; 0: all.
enum class Penalty : uint8_t {
  Repetition,  // divides positive scores, multiplies negative ones
  Presence,    // subtracted once
  Frequency,   // subtracted per occurrence
};
std::shared_ptr<const LogitsProcessor> make_penalty(Penalty kind, double penalty, int64_t size);

}  // namespace pippin::python
