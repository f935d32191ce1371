// From logits to the next token: a chain of processors, then a draw.
//
// In this order: what the caller added, biases, repetition, presence and frequency penalties, DRY,
// top-k, temperature, top-p, min-p, typical, XTC, mirostat. The filters that Hugging Face's
// generate() has give what they give there. The same logits, options and seed give the same tokens
// on every platform and whatever else runs: the generator of random numbers is the sampler's own.
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
  // Throws InvalidArgument as SamplingOptions::check().
  explicit Sampler(const SamplingOptions& options);
  // A copy goes on as this one would.
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler& other);
  Sampler(Sampler&&) noexcept = default;
  Sampler& operator=(Sampler&&) noexcept = default;
  ~Sampler() = default;

  // Behind those that were added before, in front of those of the options.
  void add(std::unique_ptr<LogitsProcessor> processor);

  // The tokens of the prompt: what penalties consider besides what was sampled.
  void observe(std::span<const int32_t> ids);
  // The next token; it counts as seen. Throws Internal where a logit is not a number, or none is
  // finite; InvalidArgument where the chain left no token.
  int32_t sample(std::span<const float> logits);

  // The probability of every token after all filters; greedy gives 1 to the chosen one. Valid until
  // the next call. Draws what the filters draw (XTC).
  std::span<const double> distribution(std::span<const float> logits);

  // The tokens that come next for certain, by the word of a processor.
  std::span<const int32_t> certain() const;
  // Whether a processor says that the text is complete.
  bool must_end() const;

  const TokenHistory& history() const { return history_; }

 private:
  void process(std::span<const float> logits);
  size_t draw();  // the place of the chosen candidate

  bool is_greedy_;
  RandomGenerator random_;
  TokenHistory history_;
  std::vector<std::unique_ptr<LogitsProcessor>> processors_;
  size_t num_added_ = 0;  // in front
  Candidates candidates_;
  std::vector<double> distribution_;
};

}  // namespace pippin::runtime
