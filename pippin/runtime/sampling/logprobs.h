// The log probabilities that the model itself gives, before any processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/base/export.h"

namespace pippin::runtime {

struct TokenLogprob {
  int32_t id = 0;
  double logprob = 0;  // natural
};

struct Logprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the likeliest tokens, best first; of equal ones lower ids
};

// Of logits as the model has them, the `chosen` token and the `top` likeliest. Throws
// InvalidArgument where there is no such token, Internal where no logit is finite.
PIPPIN_API Logprobs logprobs_of(std::span<const float> logits, int32_t chosen, int64_t top);

}  // namespace pippin::runtime
