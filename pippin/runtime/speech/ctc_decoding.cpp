#include "pippin/runtime/speech/ctc_decoding.h"

#include <algorithm>
#include <cmath>

namespace pippin::runtime {

BestScore best_score(std::span<const float> scores) {
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best] || std::isnan(scores[best])) best = i;
  }
  float sum = 0;
  for (const float score : scores) sum += std::exp(score - scores[best]);
  return {static_cast<int32_t>(best), 1 / sum};
}

std::vector<SpeechToken> decode_ctc(std::span<const float> logits, int64_t vocab_size,
                                    int32_t blank) {
  std::vector<SpeechToken> tokens;
  const auto width = static_cast<size_t>(vocab_size);
  const auto frames = static_cast<int64_t>(logits.size() / width);
  int32_t last = blank;
  for (int64_t frame = 0; frame < frames; ++frame) {
    const auto [id, probability] =
        best_score(logits.subspan(static_cast<size_t>(frame) * width, width));
    if (id != blank && id == last) {
      SpeechToken& token = tokens.back();
      token.end = frame + 1;
      token.probability = std::max(token.probability, probability);
    } else if (id != blank) {
      tokens.push_back({id, frame, frame + 1, probability});
    }
    last = id;
  }
  return tokens;
}

}  // namespace pippin::runtime
