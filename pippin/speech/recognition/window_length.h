// Where a long recording is cut into windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::speech {

// Parts of a recording whose mean power is at most this fraction of their surroundings' are pauses.
inline constexpr double kPowerOfPauses = 0.01;  // -20 dB

struct WindowEnd {
  size_t length = 0;     // of the window, in samples
  bool is_quiet = true;  // it ends with the recording or in a pause; else it may cut a word
};

// As window_length(), with the kind of the end.
WindowEnd window_end(std::span<const float> rest, size_t most, int64_t sampling_rate);

// Returns the number of samples of the window that begins `rest`, the rest of a recording: all, if
// these are at most `most`. Otherwise the window ends in the last third of `most`, in the middle of
// the quietest tenth of a second, the last one of equals, and leaves at least a second (or a
// quarter of `most`, if that is less) to the next window.
size_t window_length(std::span<const float> rest, size_t most, int64_t sampling_rate);

// Returns windows of a recording, of at most `most` samples, as pairs of start and end in seconds:
// those of window_length(), within the clips of TranscribeOptions::clip_timestamps, or in all of
// it.
std::vector<double> window_clips(std::span<const float> recording, std::span<const double> clips,
                                 size_t most, int64_t sampling_rate);

}  // namespace pippin::speech
