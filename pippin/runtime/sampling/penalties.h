// Processors that change the scores of single tokens: exclusions, biases, and penalties for
// repetition.
#pragma once

#include <memory>

#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

// Null if the options disable it.
std::unique_ptr<LogitsProcessor> make_exclusion(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_logit_bias(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_repetition_penalty(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_count_penalties(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_dry(const SamplingOptions& options);

}  // namespace pippin::runtime
