// Processors that use all probabilities: they sharpen the distribution or drop candidates.
#pragma once

#include <memory>

#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

// Null if the options disable it. Temperature 0 has no processor, because nothing is drawn.
std::unique_ptr<LogitsProcessor> make_top_k(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_temperature(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_top_p(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_min_p(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_typical(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_xtc(const SamplingOptions& options);
std::unique_ptr<LogitsProcessor> make_mirostat(const SamplingOptions& options);

}  // namespace pippin::runtime
