// Chooses the next token from logits: a chain of processors, then a draw.
//
// The order of the chain: processors added by the caller, biases, repetition, presence and
// frequency penalties, DRY, top-k, temperature, top-p, min-p, typical, XTC, mirostat. Filters that
// Hugging Face's generate() also has give the same results as there. The same logits, options and
// seed give the same tokens on every platform and under any load: each sampler has its own random
// generator.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

class Sampler {
 public:
  // Throws the errors of SamplingOptions::check().
  explicit Sampler(const SamplingOptions& options);
  // The copy has the same state and continues independently.
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler& other);
  Sampler(Sampler&&) noexcept = default;
  Sampler& operator=(Sampler&&) noexcept = default;
  ~Sampler() = default;

  // Adds a processor after those added before, in front of those of the options.
  void add(std::unique_ptr<LogitsProcessor> processor);

  // Adds tokens of the prompt, which penalties consider along with the sampled ones.
  void observe(std::span<const int32_t> ids);
  // Returns the next token and adds it to the history. Throws Internal if a logit is NaN or none is
  // finite, InvalidArgument if the chain removed all tokens.
  int32_t sample(std::span<const float> logits);
  // The same from some of the most likely tokens with their logits, in order of id, for options
  // whose choice depends on no others (SamplingOptions::is_plain_top_k()).
  int32_t sample_most_likely(std::span<const Candidate> candidates);

  // The probability of every token after all filters; with greedy sampling the chosen token has 1.
  // Valid until the next call. Uses random numbers if a filter does (XTC).
  std::span<const double> distribution(std::span<const float> logits);

  // The tokens that certainly come next, as reported by a processor.
  std::span<const int32_t> certain() const;
  // Whether a processor reports that the text is complete.
  bool must_end() const;

  const TokenHistory& history() const { return history_; }

 private:
  void process();
  int32_t choose();
  size_t draw();  // index of the chosen candidate

  bool is_greedy_;
  RandomGenerator random_;
  TokenHistory history_;
  std::vector<std::unique_ptr<LogitsProcessor>> processors_;
  size_t num_added_ = 0;  // at the front
  Candidates candidates_;
  std::vector<double> distribution_;
};

}  // namespace pippin::runtime
