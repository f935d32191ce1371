// Log probabilities of the model's own distribution, before any processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

struct TokenLogprob {
  int32_t id = 0;
  double logprob = 0;  // natural logarithm
};

struct Logprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob>
      top;  // the most likely tokens, best first; lower ids first among equals
};

// From the model's logits, [vocab_size]: those of the `chosen` token and of the `top` most likely
// ones. Throws InvalidArgument if `chosen` is not in the vocabulary, Internal if no logit is
// finite.
PIPPIN_API Logprobs logprobs_of(std::span<const float> logits, int32_t chosen, int64_t top);

}  // namespace pippin::runtime
