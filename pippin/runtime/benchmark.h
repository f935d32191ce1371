// How fast a language model is: prompts of several lengths, and tokens one by one behind contexts
// of several lengths, again and again, each with a reading of what the machine can do at that
// moment.
//
// Machines that are shared change their speed within seconds, so a sample's share of the limit is
// taken of the readings just before and after it. Ids are random ones of the vocabulary; no
// tokenizer is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/run/profile.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/statistics.h"

namespace pippin::runtime {

struct MachineReading {
  double bytes_per_second = 0;            // read from memory
  double int8_operations_per_second = 0;  // 0: not known
  double fp32_operations_per_second = 0;  // 0: not known
};

struct BenchmarkOptions {
  std::vector<int64_t> prompts;         // lengths to prefill, each above 0
  int64_t tokens = 0;                   // to decode at each depth; 0: none
  std::vector<int64_t> depths;          // tokens that are there before
  std::vector<int64_t> parallel = {1};  // sequences that decode together, for each depth
  int repetitions = 5;
  uint64_t seed = 1;
  // Called before the first sample and after each; without it there are no readings.
  std::function<MachineReading()> machine = {};
  // Joules that the machine has used since some moment, where it tells.
  std::function<std::optional<double>()> joules = {};
};

struct BenchmarkSample {
  double seconds = 0;                 // of the forward passes and the choice of tokens
  double first_token_seconds = 0;     // of a prefill: until the first token is known
  std::vector<double> token_seconds;  // of a decode: from token to token of each sequence
  MachineReading machine;             // the mean of the readings before and after
  std::optional<double> joules;
};

struct BenchmarkCase {
  enum class Kind { Prefill, Decode };
  Kind kind = Kind::Prefill;
  int64_t tokens = 0;  // of the prompt, or decoded; of each sequence
  int64_t depth = 0;
  std::vector<BenchmarkSample> samples;
  int64_t parallel = 1;  // sequences together

  std::string name() const;  // as llama-bench's: "pp512", "tg128 @ d512"; "tg128 x16"
};

// Throws InvalidArgument where a case does not fit the context, or a number is out of its range.
void check_benchmark(const Model& model, const BenchmarkOptions& options);

// Warms up with the longest prompt and a token of most sequences behind the deepest context: what
// takes most memory.
void warm_up(Model& model, const BenchmarkOptions& options);

// All cases, their samples taken in turns. Throws Cancelled, and what check_benchmark() throws.
std::vector<BenchmarkCase> run_benchmark(Model& model, const BenchmarkOptions& options);

// One more sample of each case, of few tokens, with every step in `profile` and a span for the
// case.
void profile_benchmark(Model& model, const BenchmarkOptions& options,
                       const std::shared_ptr<engine::Profile>& profile);

// The value below which a share of the values lies (0.5: the median), between neighbours by linear
// interpolation; 0 for none.
double percentile(std::vector<double> values, double share);

// What one token of a case costs at least.
struct TokenCost {
  double bytes = 0;       // to read
  double operations = 0;  // a multiplication and an addition count as two
};

struct CaseSummary {
  // Of the samples: tokens of a sample, of all its sequences, over its time, llama-bench's number.
  MeanDeviation tokens_per_second;
  double median_tokens_per_second = 0;
  // Of the tokens of a decode, of one sequence; the rates are coreml-llm-cli's
  // (runtime/statistics.h).
  MeanDeviation milliseconds_per_token;
  double median_milliseconds = 0, p90_milliseconds = 0;
  MeanDeviation rate_per_token;
  double tokens_over_elapsed = 0;  // all tokens over the time of all samples
  // Of a prefill.
  MeanDeviation first_token_milliseconds;
  double median_first_token_milliseconds = 0, p90_first_token_milliseconds = 0;
  // Medians over samples, each by its own reading: of a decode of the bandwidth, of a prefill of
  // the int8 peak. 0: no reading or no cost.
  double median_share = 0;
  double median_bytes_per_second = 0, median_int8_operations = 0;
  std::optional<double> joules_per_token, watts;
};
CaseSummary summarize(const BenchmarkCase& measured, const TokenCost& cost);

}  // namespace pippin::runtime
