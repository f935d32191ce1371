#include "pippin/speech/token_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pippin::speech {

double log_sum_exp(std::span<const float> logits) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  if (logits.empty()) return kNone;
  const double most = *std::max_element(logits.begin(), logits.end());
  if (most == kNone) return kNone;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum);
}

void log_softmax(std::span<float> logits) {
  const double sum = log_sum_exp(logits);
  for (float& logit : logits) logit = static_cast<float>(logit - sum);
}

int32_t argmax(std::span<const float> numbers) {
  return static_cast<int32_t>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
}

}  // namespace pippin::speech
