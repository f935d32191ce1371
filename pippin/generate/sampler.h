// From logits to the next token.
//
// Filters in the order of Hugging Face's generate(): repetition penalty, temperature, top-k, top-p,
// min-p. The same logits, options and seed give the same tokens on every platform: the generator of
// random numbers is our own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::generate {

struct SamplingOptions {
  double temperature = 0;  // 0: always the most likely token
  int64_t top_k = 0;       // keep the k most likely tokens (and those equal to the last); 0: all
  double top_p = 1;        // keep the fewest tokens that have this probability together
  double min_p = 0;        // drop tokens less likely than this times the most likely one
  double repetition_penalty = 1;  // on the logits of every token seen so far
  uint64_t seed = 0;

  // Throws InvalidArgument, naming the option and its range.
  void check() const;
};

// xoshiro256**, seeded through splitmix64 (Blackman and Vigna).
class RandomGenerator {
 public:
  explicit RandomGenerator(uint64_t seed);
  uint64_t next();
  double uniform();  // in [0, 1), 53 bits

 private:
  uint64_t state_[4];
};

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  // The tokens so far: what the repetition penalty looks at.
  void observe(std::span<const int32_t> ids);
  // The next token; it counts as seen. Throws Internal where a logit is not a number, or none is
  // finite.
  int32_t sample(std::span<const float> logits);

  // The probability of every token after all filters; greedy gives 1 to the chosen one. Valid until
  // the next call.
  std::span<const double> distribution(std::span<const float> logits);

 private:
  void penalize(std::span<const float> logits);
  size_t most_likely() const;
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();

  SamplingOptions options_;
  RandomGenerator random_;
  std::vector<int32_t> seen_;      // each id once
  std::vector<bool> is_seen_;      // by id
  std::vector<double> scores_;     // logits after penalty
  std::vector<double> weights_;    // probabilities up to a factor; the most likely has 1
  std::vector<double> by_weight_;  // scratch
};

}  // namespace pippin::generate
