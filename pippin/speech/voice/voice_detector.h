// Voice in recordings: the probability of speech, window after window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::speech {

// Thread-safe: recordings that several threads bring take turns.
class VoiceDetector {
 public:
  virtual ~VoiceDetector() = default;

  virtual int64_t sampling_rate() const = 0;
  virtual size_t window_samples() const = 0;
  // Returns a probability for each window of the recording; silence follows the last samples.
  // Throws InvalidArgument for a sample that is not finite, and Cancelled.
  virtual std::vector<float> probabilities(std::span<const float> samples) = 0;
};

}  // namespace pippin::speech
