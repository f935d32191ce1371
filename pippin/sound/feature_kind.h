// The interface of the rules that compute features, one per feature_extractor_type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "pippin/sound/extractor_config.h"
#include "pippin/sound/features.h"
#include "pippin/sound/recording_features.h"

namespace pippin::sound {

class FeatureKind : public std::enable_shared_from_this<FeatureKind> {
 public:
  virtual ~FeatureKind() = default;

  // The samples are finite and not above 1e18.
  virtual Features compute(std::span<const float> samples) const = 0;
  // As in FeatureExtractor.
  virtual size_t max_samples() const { return 0; }
  virtual size_t hop() const { return 1; }
  virtual RecordingFeatures frames_of(std::span<const float> samples) const;

  std::string type;
  int64_t sampling_rate = 0;
};

// Reads the configuration of one kind. It has read the keys that all kinds share.
using ReadKind = std::shared_ptr<FeatureKind>(ExtractorConfig& config);

}  // namespace pippin::sound
