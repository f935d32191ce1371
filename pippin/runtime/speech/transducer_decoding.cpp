#include "pippin/runtime/speech/transducer_decoding.h"

#include <algorithm>

#include "pippin/base/threads/cancel.h"

namespace pippin::runtime {
namespace {

// The frames by which the scores of a step advance.
int64_t advance_of(const TransducerRules& rules, std::span<const float> scores, bool is_blank) {
  if (rules.durations.empty()) return is_blank ? 1 : 0;
  const auto durations = scores.subspan(static_cast<size_t>(rules.vocab_size));
  const int64_t best = rules.durations.at(static_cast<size_t>(best_score(durations).index));
  return is_blank ? std::max<int64_t>(best, 1) : best;
}

}  // namespace

std::vector<SpeechToken> decode_transducer(const TransducerRules& rules, int64_t frames,
                                           TransducerNetworks& networks) {
  std::vector<SpeechToken> tokens;
  networks.predict(rules.blank);
  int64_t symbols = 0;  // at this frame
  for (int64_t frame = 0; frame < frames;) {
    check_cancel();
    const std::span<const float> scores = networks.join(frame);
    const auto [id, probability] = best_score(scores.first(static_cast<size_t>(rules.vocab_size)));
    const bool is_blank = id == rules.blank;
    int64_t advance = advance_of(rules, scores, is_blank);
    if (advance == 0 && ++symbols >= rules.max_symbols) advance = 1;
    if (advance > 0) symbols = 0;
    if (!is_blank) {
      const int64_t end = std::min(frame + std::max<int64_t>(advance, 1), frames);
      tokens.push_back({id, frame, end, probability});
      if (frame + advance < frames) networks.predict(id);
    }
    frame += advance;
  }
  return tokens;
}

}  // namespace pippin::runtime
