// Mel spectrograms: overlapping frames of a recording, their power spectra, and the sums of these
// over the bands of the mel scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pippin/sound/fft.h"
#include "pippin/sound/mel_filters.h"

namespace pippin::sound {

// The samples before the first and after the last of a recording.
enum class Edge : uint8_t {
  None,     // frames lie inside of the recording
  Zeros,    // frames are centred on multiples of the hop
  Reflect,  // the same; samples are mirrored at the ends, which are not repeated
};

struct FrameOptions {
  size_t hop = 0;              // samples from frame to frame
  size_t fft_size = 0;         // frames are padded with zeros to this size
  std::vector<double> window;  // as many values as a frame has samples
  Edge edge = Edge::None;
  double scale = 1;          // of samples
  bool remove_mean = false;  // of each frame
  double preemphasis = 0;    // subtracts this part of the preceding sample in the frame
  bool magnitudes = false;   // sums amplitudes instead of powers
};

// Samples, followed by zeros up to `length`; samples after it do not count.
struct PaddedSamples {
  std::span<const float> samples;
  size_t length = 0;
};

class MelSpectrogram {
 public:
  MelSpectrogram(FrameOptions options, std::vector<MelBand> bands);

  size_t num_bands() const { return bands_.size(); }
  // Number of frames in `length` samples.
  size_t num_frames(size_t length) const;
  // Calls `sink(frame, sums)` for each frame in [first, last), in order. With Edge::Reflect, the
  // padded samples must be more than half of the FFT's size (check_length).
  using Sink = std::function<void(size_t frame, std::span<const double> sums)>;
  void compute(const PaddedSamples& input, size_t first, size_t last, const Sink& sink) const;
  // Throws InvalidArgument if `length` samples are not enough for a frame.
  void check_length(size_t length) const;

 private:
  struct Work;
  void load(const PaddedSamples& input, size_t frame, size_t lane, Work& work) const;

  FrameOptions options_;
  std::vector<MelBand> bands_;
  PowerSpectrum spectrum_;
  int64_t origin_ = 0;  // position of the first sample of frame 0
};

}  // namespace pippin::sound
