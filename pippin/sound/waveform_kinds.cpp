// Features that are the samples themselves: padded, normalized, or cut into frames.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"
#include "pippin/sound/normalize.h"

namespace pippin::sound {

namespace {

void check_not_empty(std::span<const float> samples) {
  if (samples.empty()) fail(ErrorCode::InvalidArgument, "the recording has no samples");
}

// Wav2Vec2's, also of Moonshine and HuBERT: the samples, which may be normalized.
class SamplesKind : public FeatureKind {
 public:
  explicit SamplesKind(ExtractorConfig& config)
      : normalize_(config.flag("do_normalize", true)),
        with_mask_(config.flag("return_attention_mask", false)) {
    config.ignore("padding_value");
  }

  Features compute(std::span<const float> samples) const override {
    check_not_empty(samples);
    Features features;
    features.name = "input_values";
    features.shape = {1, static_cast<int64_t>(samples.size())};
    if (normalize_) {
      features.values = normalized_samples(samples);
    } else {
      features.values.assign(samples.begin(), samples.end());
    }
    if (with_mask_) add_mask(features, "attention_mask", samples.size(), samples.size());
    return features;
  }

 private:
  bool normalize_, with_mask_;
};

// Neural codecs': the samples of one channel with padding on both sides.
class CodecKind : public FeatureKind {
 public:
  explicit CodecKind(ExtractorConfig& config)
      : padding_(static_cast<float>(config.number("padding_value", 0, -1e30, 1e30))),
        with_mask_(config.flag("return_attention_mask", true)) {
    if (config.json().get_int_or("feature_size", 1) != 1) {
      config.unsupported("feature_size", "more than one channel");
    }
    if (config.type() == "DacFeatureExtractor") {
      multiple_ = read_hop(config, "hop_length", 512);
      return;
    }
    for (std::string_view key : {"chunk_length_s", "overlap"}) {
      if (config.json().has(key)) config.unsupported(key, "a number");
      config.ignore(key);
    }
    if (config.type() != "KyutaiSpeechToTextFeatureExtractor") return;
    const auto samples = [&](double seconds) {
      return static_cast<size_t>(seconds * static_cast<double>(config.sampling_rate()));
    };
    before_ = samples(config.number("audio_silence_prefix_seconds", 0, 0, 3600));
    after_ = samples(config.number("audio_delay_seconds", 0, 0, 3600) + 1);
  }

  Features compute(std::span<const float> samples) const override {
    check_not_empty(samples);
    const size_t count = align_up(samples.size(), multiple_);
    Features features;
    features.name = "input_values";
    features.values.assign(before_ + count + after_, 0);
    features.shape = {1, 1, static_cast<int64_t>(features.values.size())};
    auto* content = features.values.data() + before_;
    std::copy(samples.begin(), samples.end(), content);
    std::fill(content + samples.size(), content + count, padding_);
    if (with_mask_) {
      add_mask(features, "padding_mask", features.values.size(), before_ + samples.size());
      std::fill_n(features.mask.begin(), before_, 0);
    }
    return features;
  }

 private:
  float padding_;
  bool with_mask_;
  size_t multiple_ = 1, before_ = 0, after_ = 0;
};

// Gemma 4's without an audio tower: frames of samples, one per token.
class SampleFramesKind : public FeatureKind {
 public:
  explicit SampleFramesKind(ExtractorConfig& config)
      : length_(read_hop(config, "audio_samples_per_token", 640)),
        padding_(static_cast<float>(config.number("padding_value", 0, -1e30, 1e30))),
        with_mask_(config.flag("return_attention_mask", true)) {
    config.check_derived("feature_size", static_cast<int64_t>(length_), "audio_samples_per_token");
  }

  size_t hop() const override { return length_; }
  Features compute(std::span<const float> samples) const override {
    check_not_empty(samples);
    std::vector<float> values(samples.begin(), samples.end());
    values.resize(align_up(samples.size(), length_), padding_);
    Features features = row_features("input_features", std::move(values), length_);
    if (with_mask_) {
      const auto count = static_cast<size_t>(features.shape[1]);
      add_mask(features, "input_features_mask", count, count);
    }
    return features;
  }

 private:
  size_t length_;
  float padding_;
  bool with_mask_;
};

}  // namespace

std::shared_ptr<FeatureKind> read_samples(ExtractorConfig& config) {
  return std::make_shared<SamplesKind>(config);
}
std::shared_ptr<FeatureKind> read_codec(ExtractorConfig& config) {
  return std::make_shared<CodecKind>(config);
}
std::shared_ptr<FeatureKind> read_sample_frames(ExtractorConfig& config) {
  return std::make_shared<SampleFramesKind>(config);
}

}  // namespace pippin::sound
