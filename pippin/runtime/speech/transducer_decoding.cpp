#include "pippin/runtime/speech/transducer_decoding.h"

#include <algorithm>

#include "pippin/base/threads/cancel.h"

namespace pippin::runtime {

TransducerChoice best_choice(const TransducerRules& rules, std::span<const float> scores) {
  const auto vocab_size = static_cast<size_t>(rules.vocab_size);
  const auto [id, probability] = best_score(scores.first(vocab_size));
  if (rules.durations.empty()) return {id, probability, id == rules.blank ? 1 : 0};
  const auto best = static_cast<size_t>(best_score(scores.subspan(vocab_size)).index);
  return {id, probability, rules.durations.at(best)};
}

std::vector<SpeechToken> decode_transducer(const TransducerRules& rules, int64_t frames,
                                           TransducerNetworks& networks) {
  std::vector<SpeechToken> tokens;
  networks.predict(rules.blank);
  int64_t symbols = 0;  // at this frame
  for (int64_t frame = 0; frame < frames;) {
    check_cancel();
    const auto [id, probability, duration] = networks.choose(frame);
    const bool is_blank = id == rules.blank;
    int64_t advance = is_blank ? std::max<int64_t>(duration, 1) : duration;
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
