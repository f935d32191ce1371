// A token that was recognized in speech.
#pragma once

#include <cstdint>
#include <span>

namespace pippin::runtime {

struct SpeechToken {
  int32_t id = 0;
  int64_t begin = 0, end = 0;  // its frames, [begin, end)
  float probability = 0;       // at its most certain frame

  friend bool operator==(const SpeechToken&, const SpeechToken&) = default;
};

// The best of some scores, the first one of equals, and its probability after a softmax.
struct BestScore {
  int32_t index = 0;
  float probability = 0;
};
// `scores` is not empty. NaN is never the best.
BestScore best_score(std::span<const float> scores);

}  // namespace pippin::runtime
