// Features of recordings, as a model's preprocessor_config.json describes them.
//
// `feature_extractor_type` chooses the rule; kinds.h lists them. The results are those of
// transformers: within 1e-4 for normalized values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "pippin/io/json.h"
#include "pippin/sound/features.h"
#include "pippin/sound/recording_features.h"

namespace pippin::sound {

class FeatureKind;

// A handle to an immutable rule: cheap to copy, usable from several threads at a time.
class FeatureExtractor {
 public:
  // Reads a preprocessor_config.json, or the member feature_extractor of a processor_config.json.
  // Throws Unsupported for an unknown type, key or value, and InvalidFile.
  static FeatureExtractor read(const std::filesystem::path& path);
  static FeatureExtractor parse(const Json& config);
  // Reads that file of a model's folder. Throws NotFound if the folder has neither.
  static FeatureExtractor open(const std::filesystem::path& folder);

  // Returns `feature_extractor_type`.
  const std::string& type() const;
  // Returns the rate of the samples, in Hz, for read_sound().
  int64_t sampling_rate() const;
  // Returns the number of samples that one call uses at most, or 0 for any number. A rule of fixed
  // size (Whisper's) pads shorter recordings to it and ignores the samples after it.
  size_t max_samples() const;
  // Returns the samples from frame to frame of the features, 1 if they are the samples themselves.
  size_t hop() const;

  // Returns the features of a mono recording. Throws InvalidArgument if it is too short for a frame
  // or has a sample that is not finite or is above 1e18.
  Features operator()(std::span<const float> samples) const;

  // Returns the frames of a recording of any length, of which parts can be requested (Whisper's
  // long-form transcription). `samples` must outlive the result. Throws Unsupported if the rule
  // has no such form.
  RecordingFeatures frames_of(std::span<const float> samples) const;

 private:
  explicit FeatureExtractor(std::shared_ptr<const FeatureKind> kind) : kind_(std::move(kind)) {}

  std::shared_ptr<const FeatureKind> kind_;
};

}  // namespace pippin::sound
