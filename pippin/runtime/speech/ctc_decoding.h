// Greedy decoding of CTC (Graves et al. 2006): the best token of each frame, with runs of the same
// token as one, without blanks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/speech/speech_token.h"

namespace pippin::runtime {

// `logits` has a row of `vocab_size` numbers for each frame.
std::vector<SpeechToken> decode_ctc(std::span<const float> logits, int64_t vocab_size,
                                    int32_t blank);

}  // namespace pippin::runtime
