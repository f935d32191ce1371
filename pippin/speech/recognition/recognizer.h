// A model that recognizes the speech of one window of a recording, as the transcription of long
// recordings (recognize_recording.h) uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/speech/speech_token.h"

namespace pippin::speech {

struct RecognizedToken {
  int32_t id = 0;
  double start = 0, end = 0;  // seconds from the start of the window
  double probability = 0;
};

// Thread-safe: windows that several threads request take turns.
class Recognizer {
 public:
  virtual ~Recognizer() = default;

  // The rate of the samples, in Hz.
  virtual int64_t sampling_rate() const = 0;
  // The most samples of a window.
  virtual size_t most_samples() const = 0;
  // Whether tokens have times of their own, or all that of the window.
  virtual bool finds_times() const = 0;
  // Returns the tokens of a window, in order. Throws InvalidArgument for a window that is too short
  // or has a sample that is not finite, and Cancelled.
  virtual std::vector<RecognizedToken> recognize(std::span<const float> samples) = 0;
  // Returns the encoder's output for a window. Throws as recognize().
  virtual runtime::EncodedSpeech encode(std::span<const float> samples) = 0;
};

}  // namespace pippin::speech
