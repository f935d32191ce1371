// A recording without its silence, and the times of it in the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/speech/transcription.h"
#include "pippin/speech/voice/voice_ranges.h"

namespace pippin::speech {

class VoicedSound {
 public:
  // Joins the ranges of the recording, which are in order.
  VoicedSound(std::span<const float> recording, std::vector<SampleRange> ranges,
              int64_t sampling_rate);

  std::span<const float> samples() const { return samples_; }
  // Returns the recording's time of a time of samples(), in seconds. Where two ranges meet, an end
  // belongs to the first one, a start to the second.
  double original(double time, bool is_end) const;
  // Replaces the segment's times. A word stays in the range of its middle.
  void restore(Segment& segment) const;

 private:
  struct Piece {
    double begin = 0, end = 0;  // in samples()
    double original = 0;        // where it begins in the recording
  };
  const Piece& piece_at(double time, bool is_end) const;

  std::vector<float> samples_;
  std::vector<Piece> pieces_;
};

// The parts of `ranges` inside of the clips, pairs of start and end in seconds as in
// TranscribeOptions::clip_timestamps; all of them without clips.
std::vector<SampleRange> ranges_in_clips(std::span<const SampleRange> ranges,
                                         std::span<const double> clips, int64_t sampling_rate);

}  // namespace pippin::speech
