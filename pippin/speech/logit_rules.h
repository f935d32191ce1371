// Tokens that may not follow, removed from the logits before one is chosen: suppressed ones, and
// those that would break the order of timestamps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/speech/special_tokens.h"

namespace pippin::speech {

struct LogitRules {
  std::vector<int32_t> suppressed;        // at every position
  std::vector<int32_t> suppressed_first;  // at the first position
  enum class Timestamps : uint8_t { Free, None, Ordered } timestamps = Timestamps::Free;
  SpecialTokens tokens;  // for None and Ordered
  // The last timestamp, counted from the first one, that may begin a window; none: any.
  std::optional<int64_t> max_initial_timestamp_index;

  // Sets the logits of tokens that must not follow `sampled`, the tokens after the prompt, to
  // -inf. Timestamps form pairs, except at the end of the text, do not decrease, and give segments
  // a length above 0. If timestamps together are more probable than each text token, a timestamp
  // follows.
  void apply(std::span<const int32_t> sampled, std::span<float> logits) const;

 private:
  void apply_timestamps(std::span<const int32_t> sampled, std::span<float> logits) const;
};

}  // namespace pippin::speech
