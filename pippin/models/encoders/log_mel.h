// Whisper's features of a recording (sound/whisper_kind.h) as operations of a program.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"

namespace pippin::models {

// Samples from one frame to the next.
inline constexpr int64_t kLogMelHop = 160;

// The log-mel spectrogram (1, bins, frames) in fp32 of `audio`, fp32 (frames * kLogMelHop) samples
// at 16 kHz, relative to its loudest value.
array::Array log_mel(const array::Array& audio, int64_t bins, int64_t frames);

}  // namespace pippin::models
