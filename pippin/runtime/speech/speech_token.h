// A token that was recognized in speech.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::runtime {

struct SpeechToken {
  int32_t id = 0;
  int64_t begin = 0, end = 0;  // its frames, [begin, end)
  float probability = 0;       // at its most certain frame

  friend bool operator==(const SpeechToken&, const SpeechToken&) = default;
};

// The output of an encoder for speech: rows of `width` numbers, one after another.
struct EncodedSpeech {
  int64_t width = 0;
  std::vector<float> rows;
  bool are_scores = false;  // of the tokens, before a softmax
};

// The best of some scores, the first one of equals, and its probability after a softmax.
struct BestScore {
  int32_t index = 0;
  float probability = 0;
};
// `scores` is not empty. NaN is never the best.
BestScore best_score(std::span<const float> scores);

}  // namespace pippin::runtime
