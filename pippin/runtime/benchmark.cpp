#include "pippin/runtime/benchmark.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/sampling/sampler.h"

namespace pippin::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = BenchmarkCase::Kind;

constexpr int64_t kMostSequences = 1024;
constexpr int64_t kProfiledTokens = 8;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

class Benchmark {
 public:
  Benchmark(Model& model, const BenchmarkOptions& options,
            std::shared_ptr<engine::Profile> profile = nullptr)
      : model_(model), options_(options), random_(options.seed), profile_(std::move(profile)) {}

  std::vector<int32_t> ids(int64_t count) {
    std::vector<int32_t> result(static_cast<size_t>(count));
    for (int32_t& id : result) {
      id = static_cast<int32_t>(random_.next() % static_cast<uint64_t>(model_.vocab_size()));
    }
    return result;
  }

  // Fills the context with `count` random tokens.
  void fill(Sequence& sequence, int64_t count) {
    sequence.truncate(0);
    if (count > 0) sequence.prefill(ids(count));
  }

  BenchmarkSample measure(const BenchmarkCase& one, int64_t tokens) {
    if (one.kind == Kind::Prefill) return prefill(tokens);
    return one.parallel == 1 ? decode(tokens, one.depth)
                             : decode_together(tokens, one.depth, one.parallel);
  }

  // The beginning of the last measurement.
  Clock::time_point started() const { return started_; }

  BenchmarkSample prefill(int64_t tokens) {
    const auto prompt = ids(tokens);
    Sequence& sequence = *sequences(1).front();
    sequence.truncate(0);
    BenchmarkSample sample;
    const Profiled profiled(profile_);
    const auto before = joules();
    const auto start = started_ = Clock::now();
    const auto logits = sequence.prefill(prompt);
    sample.seconds = seconds_between(start, Clock::now());
    choose(sequence, logits);
    sample.first_token_seconds = seconds_between(start, Clock::now());
    take_joules(sample, before);
    return sample;
  }

  // A token's time is that of its pass and of choosing the next token from its logits. The next
  // token fed is random, so that every run feeds the same tokens.
  BenchmarkSample decode(int64_t tokens, int64_t depth) {
    Sequence& sequence = *sequences(1).front();
    fill(sequence, depth);
    const auto fed = ids(tokens);
    BenchmarkSample sample;
    sample.token_seconds.reserve(fed.size());
    const Profiled profiled(profile_);
    const auto before = joules();
    const auto start = started_ = Clock::now();
    auto last = start;
    for (const int32_t id : fed) {
      choose(sequence, sequence.decode(id));
      const auto now = Clock::now();
      sample.token_seconds.push_back(seconds_between(last, now));
      last = now;
    }
    sample.seconds = seconds_between(start, last);
    take_joules(sample, before);
    return sample;
  }

  // The same for several sequences, each with its own tokens.
  BenchmarkSample decode_together(int64_t tokens, int64_t depth, int64_t count) {
    const auto members = sequences(static_cast<size_t>(count));
    for (const auto& sequence : members) {
      check_cancel();
      fill(*sequence, depth);
    }
    const auto fed = ids(tokens * count);
    Batch batch(model_.shared_from_this());
    BenchmarkSample sample;
    sample.token_seconds.reserve(static_cast<size_t>(tokens));
    const Profiled profiled(profile_);
    const auto before = joules();
    const auto start = started_ = Clock::now();
    auto last = start;
    for (size_t token = 0; token < static_cast<size_t>(tokens); ++token) {
      batch.clear();
      for (size_t i = 0; i < members.size(); ++i) {
        batch.add(*members[i], fed[token * members.size() + i]);
      }
      batch.run();
      for (size_t i = 0; i < members.size(); ++i) choose(*members[i], batch.logits(i));
      const auto now = Clock::now();
      sample.token_seconds.push_back(seconds_between(last, now));
      last = now;
    }
    sample.seconds = seconds_between(start, last);
    take_joules(sample, before);
    return sample;
  }

  MachineReading machine() const {
    return options_.machine ? options_.machine() : MachineReading();
  }

 private:
  // Turns the profile on for its lifetime, if there is one.
  class Profiled {
   public:
    explicit Profiled(const std::shared_ptr<engine::Profile>& profile) {
      if (profile != nullptr) scope_.emplace(profile);
    }

   private:
    std::optional<engine::ProfileScope> scope_;
  };

  // Returns that many sequences, which are created on first use.
  std::span<const std::unique_ptr<Sequence>> sequences(size_t count) {
    if (count > 1 && !model_.capabilities().many_sequences) {
      fail(ErrorCode::Unsupported, "this model holds one sequence, not {} together", count);
    }
    while (sequences_.size() < count) sequences_.push_back(sequence_for_tokens(model_));
    return std::span(sequences_).first(count);
  }

  void choose(Sequence& sequence, std::span<const float> logits) {
    const auto chosen = sequence.greedy_token();
    chosen_ =
        chosen
            ? *chosen
            : static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  std::optional<double> joules() const {
    return options_.joules ? options_.joules() : std::nullopt;
  }
  void take_joules(BenchmarkSample& sample, const std::optional<double>& before) const {
    const auto after = joules();
    if (before && after) sample.joules = *after - *before;
  }

  Model& model_;
  const BenchmarkOptions& options_;
  RandomGenerator random_;
  std::shared_ptr<engine::Profile> profile_;
  Clock::time_point started_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  volatile int32_t chosen_ = 0;  // stored so that the compiler keeps the choice
};

std::vector<BenchmarkCase> cases_of(const BenchmarkOptions& options) {
  std::vector<BenchmarkCase> cases;
  for (const int64_t tokens : options.prompts) cases.push_back({Kind::Prefill, tokens, 0, {}});
  if (options.tokens > 0) {
    for (const int64_t depth : options.depths) {
      for (const int64_t parallel : options.parallel) {
        cases.push_back({Kind::Decode, options.tokens, depth, {}, parallel});
      }
    }
  }
  return cases;
}

MachineReading mean(const MachineReading& a, const MachineReading& b) {
  return {(a.bytes_per_second + b.bytes_per_second) / 2,
          (a.int8_operations_per_second + b.int8_operations_per_second) / 2,
          (a.fp32_operations_per_second + b.fp32_operations_per_second) / 2};
}

int64_t all_tokens(const BenchmarkCase& measured) {
  return measured.tokens * measured.parallel;
}

// The median over samples of each one's share of its own limit.
double median_share(const BenchmarkCase& measured, const TokenCost& cost) {
  std::vector<double> shares;
  for (const BenchmarkSample& sample : measured.samples) {
    const bool decode = measured.kind == Kind::Decode;
    const double limit =
        decode ? sample.machine.bytes_per_second : sample.machine.int8_operations_per_second;
    const double needed =
        (decode ? cost.bytes : cost.operations) * static_cast<double>(all_tokens(measured));
    if (limit > 0 && needed > 0 && sample.seconds > 0) {
      shares.push_back(needed / sample.seconds / limit);
    }
  }
  return percentile(std::move(shares), 0.5);
}

}  // namespace

std::string BenchmarkCase::name() const {
  if (kind == Kind::Prefill) return fmt::format("pp{}", tokens);
  std::string text = fmt::format("tg{}", tokens);
  if (parallel != 1) text += fmt::format(" x{}", parallel);
  if (depth != 0) text += fmt::format(" @ d{}", depth);
  return text;
}

std::unique_ptr<Sequence> sequence_for_tokens(Model& model) {
  auto sequence = model.new_sequence();
  if (const auto& form = model.source()) {
    const auto bins = std::max<int64_t>(form->bins, 1);
    const std::vector<float> zeros(static_cast<size_t>(bins * form->frames));
    std::vector<int64_t> shape = {bins, form->frames};
    if (form->bins == 0) shape.erase(shape.begin());
    sequence->set_source({zeros, std::move(shape)});
  }
  return sequence;
}

void check_benchmark(const Model& model, const BenchmarkOptions& options) {
  const auto cases = cases_of(options);
  if (cases.empty()) fail(ErrorCode::InvalidArgument, "nothing to measure: no prompt, no tokens");
  if (options.repetitions < 1) {
    fail(ErrorCode::InvalidArgument, "{} repetitions: at least 1", options.repetitions);
  }
  for (const BenchmarkCase& one : cases) {
    if (one.tokens < 1 || one.depth < 0) {
      fail(ErrorCode::InvalidArgument, "{} tokens at depth {}: out of range", one.tokens,
           one.depth);
    }
    if (one.parallel < 1 || one.parallel > kMostSequences) {
      fail(ErrorCode::InvalidArgument, "{} sequences together: must be 1 to {}", one.parallel,
           kMostSequences);
    }
    // Unsigned: the sum of two non-negative numbers fits.
    const uint64_t needed = static_cast<uint64_t>(one.tokens) + static_cast<uint64_t>(one.depth);
    if (!model.capabilities().sliding_window && needed > static_cast<uint64_t>(model.context())) {
      fail(ErrorCode::InvalidArgument, "{} needs {} tokens of context, the model has {}",
           one.name(), needed, model.context());
    }
  }
}

void warm_up(Model& model, const BenchmarkOptions& options) {
  check_benchmark(model, options);
  Benchmark benchmark(model, options);
  int64_t prompt = 0, depth = -1, parallel = 1;
  for (const BenchmarkCase& one : cases_of(options)) {
    if (one.kind == Kind::Prefill) prompt = std::max(prompt, one.tokens);
    if (one.kind == Kind::Decode) depth = std::max(depth, one.depth);
    parallel = std::max(parallel, one.parallel);
  }
  if (prompt > 0) benchmark.prefill(prompt);
  check_cancel();
  if (depth >= 0) benchmark.decode(1, depth);
  if (parallel > 1) benchmark.decode_together(1, depth, parallel);
}

std::vector<BenchmarkCase> run_benchmark(Model& model, const BenchmarkOptions& options) {
  check_benchmark(model, options);
  Benchmark benchmark(model, options);
  auto cases = cases_of(options);
  MachineReading before = benchmark.machine();
  for (int i = 0; i < options.repetitions; ++i) {
    for (BenchmarkCase& one : cases) {
      check_cancel();
      BenchmarkSample sample = benchmark.measure(one, one.tokens);
      const MachineReading after = benchmark.machine();
      sample.machine = mean(before, after);
      before = after;
      one.samples.push_back(std::move(sample));
    }
  }
  return cases;
}

void profile_benchmark(Model& model, const BenchmarkOptions& options,
                       const std::shared_ptr<engine::Profile>& profile) {
  check_benchmark(model, options);
  Benchmark benchmark(model, options, profile);
  for (const BenchmarkCase& one : cases_of(options)) {
    check_cancel();
    const bool decode = one.kind == Kind::Decode;
    const BenchmarkSample sample =
        benchmark.measure(one, decode ? std::min(one.tokens, kProfiledTokens) : one.tokens);
    const auto length =
        std::chrono::duration<double>(decode ? sample.seconds : sample.first_token_seconds);
    const auto begin = benchmark.started();
    profile->add_span(one.name(), begin,
                      begin + std::chrono::duration_cast<Clock::duration>(length));
  }
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

CaseSummary summarize(const BenchmarkCase& measured, const TokenCost& cost) {
  std::vector<double> speeds, milliseconds, rates, first, bandwidths, peaks;
  double seconds = 0, joules = 0;
  bool has_joules = !measured.samples.empty();
  for (const BenchmarkSample& sample : measured.samples) {
    seconds += sample.seconds;
    if (sample.seconds > 0) {
      speeds.push_back(static_cast<double>(all_tokens(measured)) / sample.seconds);
    }
    for (const double token : sample.token_seconds) {
      milliseconds.push_back(token * 1000);
      if (token > 0) rates.push_back(1 / token);
    }
    if (measured.kind == Kind::Prefill) first.push_back(sample.first_token_seconds * 1000);
    bandwidths.push_back(sample.machine.bytes_per_second);
    peaks.push_back(sample.machine.int8_operations_per_second);
    joules += sample.joules.value_or(0);
    has_joules = has_joules && sample.joules.has_value();
  }
  const double tokens =
      static_cast<double>(all_tokens(measured)) * static_cast<double>(measured.samples.size());
  CaseSummary result;
  result.tokens_per_second = mean_deviation(speeds);
  result.median_tokens_per_second = percentile(speeds, 0.5);
  result.milliseconds_per_token = mean_deviation(milliseconds);
  result.median_milliseconds = percentile(milliseconds, 0.5);
  result.p90_milliseconds = percentile(milliseconds, 0.9);
  result.rate_per_token = mean_deviation(rates);
  if (seconds > 0) result.tokens_over_elapsed = tokens / seconds;
  result.first_token_milliseconds = mean_deviation(first);
  result.median_first_token_milliseconds = percentile(first, 0.5);
  result.p90_first_token_milliseconds = percentile(first, 0.9);
  result.median_share = median_share(measured, cost);
  result.median_bytes_per_second = percentile(bandwidths, 0.5);
  result.median_int8_operations = percentile(peaks, 0.5);
  if (has_joules && tokens > 0) result.joules_per_token = joules / tokens;
  if (has_joules && seconds > 0) result.watts = joules / seconds;
  return result;
}

}  // namespace pippin::runtime
