// Features of parts of a long recording.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "pippin/sound/features.h"

namespace pippin::sound {

class WhisperKind;

// The log-mel frames of a whole recording, as transformers computes them for long-form
// transcription (truncation off, padding to the longest). They are relative to the loudest value of
// the whole recording, which construction finds in one pass; windows are computed on request, so
// memory does not depend on the recording's length.
class RecordingFeatures {
 public:
  RecordingFeatures(std::shared_ptr<const WhisperKind> kind, std::span<const float> samples);

  size_t num_frames() const;
  // Returns `count` frames from `first` on, in the shape (1, bands, count). Frames after the end
  // are 0, as transformers pads windows. Throws InvalidArgument if `first` is after the last frame.
  Features window(size_t first, size_t count) const;

 private:
  std::shared_ptr<const WhisperKind> kind_;
  std::span<const float> samples_;
  float peak_ = 0;  // log10 of the largest sum
};

}  // namespace pippin::sound
