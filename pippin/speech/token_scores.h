// Log-probabilities of the next token.
#pragma once

#include <cstdint>
#include <span>

namespace pippin::speech {

// Returns log(sum(exp(logits))), computed in double; -inf if all are -inf.
double log_sum_exp(std::span<const float> logits);

// Replaces logits by log-probabilities.
void log_softmax(std::span<float> logits);

// Returns the first index of the largest number. `numbers` must not be empty.
int32_t argmax(std::span<const float> numbers);

}  // namespace pippin::speech
