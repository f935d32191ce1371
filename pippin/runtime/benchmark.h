// Measures the speed of a language model: prefill of several prompt lengths and decoding at several
// depths, repeatedly, each with a reading of the machine's current limits.
//
// Shared machines change their speed within seconds, so a sample's share of the limit uses the
// readings just before and after it. Ids are drawn at random from the vocabulary; no tokenizer is
// needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/run/profile.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/statistics.h"

namespace pippin::runtime {

struct MachineReading {
  double bytes_per_second = 0;            // memory read bandwidth
  double int8_operations_per_second = 0;  // 0: unknown
  double fp32_operations_per_second = 0;  // 0: unknown
};

struct BenchmarkOptions {
  std::vector<int64_t> prompts;         // lengths to prefill, each above 0
  int64_t tokens = 0;                   // to decode at each depth; 0: none
  std::vector<int64_t> depths;          // tokens already in the context
  std::vector<int64_t> parallel = {1};  // sequences that decode together, at each depth
  int repetitions = 5;
  uint64_t seed = 1;
  // Called before the first sample and after each one. Empty: no readings.
  std::function<MachineReading()> machine = {};
  // The machine's energy counter in joules, if it has one.
  std::function<std::optional<double>()> joules = {};
};

struct BenchmarkSample {
  double seconds = 0;                 // of the forward passes and the choice of tokens
  double first_token_seconds = 0;     // prefill: until the first token is known
  std::vector<double> token_seconds;  // decode: from token to token of each sequence
  MachineReading machine;             // the mean of the readings before and after
  std::optional<double> joules;
};

struct BenchmarkCase {
  enum class Kind { Prefill, Decode };
  Kind kind = Kind::Prefill;
  int64_t tokens = 0;  // of the prompt, or decoded, per sequence
  int64_t depth = 0;
  std::vector<BenchmarkSample> samples;
  int64_t parallel = 1;  // sequences that decode together

  std::string name() const;  // llama-bench's names: "pp512", "tg128 @ d512"; "tg128 x16"
};

// A new sequence that tokens can be fed to: with a source of zeros if the model needs one, since
// the time of a pass does not depend on its numbers.
std::unique_ptr<Sequence> sequence_for_tokens(Model& model);

// Throws InvalidArgument if a case does not fit the context or a number is out of range.
void check_benchmark(const Model& model, const BenchmarkOptions& options);

// Warms up with the cases that need most memory: the longest prompt, and one token of the largest
// number of sequences at the greatest depth.
void warm_up(Model& model, const BenchmarkOptions& options);

// Runs all cases, alternating between them. Throws Cancelled and the errors of check_benchmark().
std::vector<BenchmarkCase> run_benchmark(Model& model, const BenchmarkOptions& options);

// Runs one more sample of each case, with few tokens. Records every step and a span per case in
// `profile`.
void profile_benchmark(Model& model, const BenchmarkOptions& options,
                       const std::shared_ptr<engine::Profile>& profile);

// The value below which `share` of the values lies (0.5: the median), interpolated linearly; 0 for
// no values.
double percentile(std::vector<double> values, double share);

// The least work of one token of a case.
struct TokenCost {
  double bytes = 0;       // read from memory
  double operations = 0;  // a multiplication and an addition count as two
};

struct CaseSummary {
  // Per sample: the tokens of all its sequences over its time, as llama-bench counts.
  MeanDeviation tokens_per_second;
  double median_tokens_per_second = 0;
  // Per token of a decode, for one sequence. The rates are those of coreml-llm-cli
  // (runtime/statistics.h).
  MeanDeviation milliseconds_per_token;
  double median_milliseconds = 0, p90_milliseconds = 0;
  MeanDeviation rate_per_token;
  double tokens_over_elapsed = 0;  // all tokens over the time of all samples
  // Prefill only.
  MeanDeviation first_token_milliseconds;
  double median_first_token_milliseconds = 0, p90_first_token_milliseconds = 0;
  // Medians over samples, each relative to its own reading: of the bandwidth for a decode, of the
  // int8 peak for a prefill. 0: no reading or no cost.
  double median_share = 0;
  double median_bytes_per_second = 0, median_int8_operations = 0;
  std::optional<double> joules_per_token, watts;
};
CaseSummary summarize(const BenchmarkCase& measured, const TokenCost& cost);

}  // namespace pippin::runtime
