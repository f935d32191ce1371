#include "pippin/runtime/sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pippin/base/error.h"

namespace pippin::runtime {

Logprobs logprobs_of(std::span<const float> logits, int32_t chosen, int64_t top) {
  if (chosen < 0 || static_cast<size_t>(chosen) >= logits.size()) {
    fail(ErrorCode::InvalidArgument, "token {} is not in the vocabulary of {}", chosen,
         logits.size());
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  if (!std::isfinite(largest)) {
    fail(ErrorCode::Internal, "the model gave no finite largest logit ({} tokens)", logits.size());
  }
  const double sum = std::accumulate(
      logits.begin(), logits.end(), 0.0,
      [&](double before, float logit) { return before + std::exp(logit - largest); });
  const double normalizer = largest + std::log(sum);
  const auto logprob = [&](int32_t id) {
    return TokenLogprob{id, logits[static_cast<size_t>(id)] - normalizer};
  };
  Logprobs result;
  result.chosen = logprob(chosen);
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::clamp<int64_t>(top, 0, std::ssize(ids));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](int32_t a, int32_t b) {
    const float logit_a = logits[static_cast<size_t>(a)], logit_b = logits[static_cast<size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  });
  for (int64_t i = 0; i < count; ++i) result.top.push_back(logprob(ids[static_cast<size_t>(i)]));
  return result;
}

}  // namespace pippin::runtime
