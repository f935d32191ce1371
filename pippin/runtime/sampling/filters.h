// Processors that look at all probabilities: they sharpen them, or drop candidates.
#pragma once

#include <memory>

#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

// Null where the options switch it off. Temperature 0 has no processor: nothing is drawn.
std::unique_ptr<LogitsProcessor> make_top_k(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_temperature(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_top_p(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_min_p(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_typical(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_xtc(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_mirostat(const SamplingOptions& options);

}  // namespace pippin::runtime
