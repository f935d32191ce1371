// Features of recordings by a package MelSpectrogram of WhisperKit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class WhisperKitMel {
 public:
  // `pool` must outlive it. `bins` and `shape` are those of the model's encoder. Throws InvalidFile
  // for a package of other sizes.
  WhisperKitMel(const std::filesystem::path& package, std::string name, ThreadPool& pool,
                const engine::ComputeOptions& compute, int64_t bins, const WindowShape& shape);

  static constexpr int64_t kSamplingRate = 16000;

  int64_t window_samples() const { return samples_; }
  int64_t hop() const { return samples_ / shape_.frames; }
  const WindowShape& shape() const { return shape_; }
  // The features, [bins, frames], of at most window_samples() samples, followed by silence; valid
  // until the next call.
  std::span<const float> compute(std::span<const float> samples);

 private:
  runtime::FixedPart part_;
  WindowShape shape_;
  int64_t samples_ = 0;
  size_t audio_ = 0, features_ = 0;
};

// Each window's features are relative to its own loudest sound, as WhisperKit computes them; those
// of a recording that fits into one window are computed once.
class WhisperKitSource final : public FeatureSource {
 public:
  // `mel` and `samples` must outlive it. Throws InvalidArgument for samples that are not finite.
  WhisperKitSource(WhisperKitMel& mel, std::span<const float> samples);

  int64_t frames() const override { return std::ssize(samples_) / mel_.hop(); }
  double seconds() const override {
    return static_cast<double>(samples_.size()) / WhisperKitMel::kSamplingRate;
  }
  std::vector<float> window(int64_t first, int64_t count) override;

 private:
  WhisperKitMel& mel_;
  std::span<const float> samples_;
  std::vector<float> whole_;
};

}  // namespace pippin::speech
