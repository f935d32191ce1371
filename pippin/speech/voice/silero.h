// Packages of Silero's detector (families/silero.h).
#pragma once

#include <filesystem>
#include <mutex>
#include <string>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/speech/voice/voice_detector.h"

namespace pippin::speech {

class SileroVoice final : public VoiceDetector {
 public:
  // `pool` must outlive it; `name` is the file's, for messages. Throws InvalidFile and Unsupported
  // for a package with other inputs and outputs.
  SileroVoice(const std::filesystem::path& package, std::string name, ThreadPool& pool,
              const engine::ComputeOptions& compute);

  int64_t sampling_rate() const override;
  size_t window_samples() const override { return window_; }
  std::vector<float> probabilities(std::span<const float> samples) override;

 private:
  runtime::FixedPart part_;
  std::mutex mutex_;  // of part_
  size_t window_ = 0;
  size_t audio_ = 0, hidden_ = 0, cell_ = 0, probability_ = 0, new_hidden_ = 0, new_cell_ = 0;
};

}  // namespace pippin::speech
