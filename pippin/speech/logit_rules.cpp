#include "pippin/speech/logit_rules.h"

#include <algorithm>
#include <limits>

#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

void forbid(std::span<float> logits, std::span<const int32_t> ids) {
  for (const int32_t id : ids) logits[static_cast<size_t>(id)] = kForbidden;
}

// Forbids the tokens of [begin, end).
void forbid(std::span<float> logits, int64_t begin, int64_t end) {
  const auto size = static_cast<int64_t>(logits.size());
  begin = std::clamp<int64_t>(begin, 0, size);
  end = std::clamp(end, begin, size);
  std::fill(logits.begin() + begin, logits.begin() + end, kForbidden);
}

}  // namespace

void LogitRules::apply(std::span<const int32_t> sampled, std::span<float> logits) const {
  if (sampled.empty()) forbid(logits, suppressed_first);
  forbid(logits, suppressed);
  if (timestamps == Timestamps::None) {
    forbid(logits, tokens.timestamp_begin, std::ssize(logits));
  } else if (timestamps == Timestamps::Ordered) {
    apply_timestamps(sampled, logits);
  }
}

void LogitRules::apply_timestamps(std::span<const int32_t> sampled, std::span<float> logits) const {
  const auto size = static_cast<int64_t>(logits.size());
  const int64_t begin = tokens.timestamp_begin;
  const size_t count = sampled.size();
  forbid(logits, std::span(&tokens.no_timestamps, 1));
  forbid(logits, tokens.timestamp_end, size);  // padding of the vocabulary
  const bool after_timestamp = count >= 1 && tokens.is_timestamp(sampled[count - 1]);
  const bool after_pair = count < 2 || tokens.is_timestamp(sampled[count - 2]);
  if (after_timestamp && after_pair) forbid(logits, begin, size);
  if (after_timestamp && !after_pair) forbid(logits, 0, tokens.end_of_text);
  for (size_t i = count; i-- > 0;) {
    if (!tokens.is_timestamp(sampled[i])) continue;
    // The end of a segment may also begin the next one.
    const bool may_repeat = after_timestamp && !after_pair;
    forbid(logits, begin, int64_t{sampled[i]} + (may_repeat ? 0 : 1));
    break;
  }
  if (count == 0) {
    forbid(logits, 0, begin);
    if (max_initial_timestamp_index) {
      forbid(logits, begin + *max_initial_timestamp_index + 1, size);
    }
  }
  const auto first = static_cast<size_t>(begin);
  const float best_text = *std::max_element(logits.begin(), logits.begin() + begin);
  // Both would be divided by the same sum over all tokens.
  if (log_sum_exp(logits.subspan(first)) > best_text) forbid(logits, 0, begin);
}

}  // namespace pippin::speech
