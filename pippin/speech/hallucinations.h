// Text that a model invents in silence: segments of improbable words between pauses.
#pragma once

#include <optional>
#include <vector>

#include "pippin/speech/options.h"
#include "pippin/speech/segments.h"

namespace pippin::speech {

// Times in the recording, in seconds.
struct WindowTimes {
  double start = 0;
  double speech_end = 0;   // of the sound in the window
  double end = 0;          // of the whole window, with padding
  double last_speech = 0;  // the end of the words before the window
  double recording_end = 0;
};

// Removes the first segment that looks invented and has silence, or other such segments, before and
// after it, and all segments after it. Returns the time at which the next window begins; nullopt
// if nothing was removed. Segments need words, and options.hallucination_silence_threshold a value:
// pauses longer than that are silence.
std::optional<double> remove_hallucinations(std::vector<Segment>& segments,
                                            const WindowTimes& window,
                                            const TranscribeOptions& options);

}  // namespace pippin::speech
