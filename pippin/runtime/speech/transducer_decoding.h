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

// The networks of a transducer, for one input.
class TransducerNetworks {
 public:
  virtual ~TransducerNetworks() = default;
  // The last token: for the next join().
  virtual void predict(int32_t token) = 0;
  // Scores of all tokens, then of all durations, after the last token at a frame; valid until the
  // next call.
  virtual std::span<const float> join(int64_t frame) = 0;
};

// The tokens of `frames` frames, without blanks. A token's frames end where the next one's begin at
// the earliest, and are at least one. Throws Cancelled.
std::vector<SpeechToken> decode_transducer(const TransducerRules& rules, int64_t frames,
                                           TransducerNetworks& networks);

}  // namespace pippin::runtime
