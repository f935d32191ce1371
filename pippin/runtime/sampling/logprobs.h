// Log probabilities of the model's own distribution, before any processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

// A token and its log probability.
struct TokenLogprob {
  int32_t id = 0;      // the token
  double logprob = 0;  // the natural logarithm of its probability
};

// Log probabilities of one step.
struct Logprobs {
  TokenLogprob chosen;  // the token that was chosen
  std::vector<TokenLogprob>
      top;  // the most likely tokens, best first; lower ids first among equals
};

// Returns the log probabilities of the `chosen` token and of the `top` most likely ones, from the
// model's logits [vocab_size]. Throws InvalidArgument if `chosen` is not in the vocabulary,
// Internal if no logit is finite.
PIPPIN_API Logprobs logprobs_of(std::span<const float> logits, int32_t chosen, int64_t top);

}  // namespace pippin::runtime
