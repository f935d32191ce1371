// Greedy decoding of transducers: token by token, each at a frame that stays or advances.
//
// Without durations (RNN-T) a blank advances by one frame, every other token by none; with them
// (TDT) each token by the duration with the best score, a blank by at least one frame. After
// `max_symbols` tokens at one frame the next frame follows, as in NeMo.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/speech/speech_token.h"

namespace pippin::runtime {

struct TransducerRules {
  int64_t vocab_size = 0;
  int32_t blank = 0;
  std::vector<int64_t> durations;  // in frames, none below 0; empty: RNN-T
  int64_t max_symbols = 0;         // at least 1
};

// The next token at a frame, and the frames by which it advances.
struct TransducerChoice {
  int32_t id = 0;
  float probability = 0;
  int64_t duration = 0;
};

// The best of scores of all tokens, then of all durations.
TransducerChoice best_choice(const TransducerRules& rules, std::span<const float> scores);

// The networks of a transducer, for one input.
class TransducerNetworks {
 public:
  virtual ~TransducerNetworks() = default;
  // The last token: for the next choose().
  virtual void predict(int32_t token) = 0;
  // The token after the last one at a frame. Without durations a blank has 1, others 0.
  virtual TransducerChoice choose(int64_t frame) = 0;
};

// The tokens of `frames` frames, without blanks. A token's frames end where the next one's begin at
// the earliest, and are at least one. Throws Cancelled.
std::vector<SpeechToken> decode_transducer(const TransducerRules& rules, int64_t frames,
                                           TransducerNetworks& networks);

}  // namespace pippin::runtime
