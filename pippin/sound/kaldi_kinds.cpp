// Kaldi's filter banks, as three kinds of models use them: 25 ms frames every 10 ms, without their
// mean, with preemphasis in each frame.
#include <cmath>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"
#include "pippin/sound/normalize.h"

namespace pippin::sound {

namespace {

// The frames are 25 ms at 16 kHz, at any other rate as many samples.
constexpr size_t kFrame = 400, kHop = 160, kFft = 512;

MelSpectrogram kaldi_spectrogram(ExtractorConfig& config, int64_t bands, Window window,
                                 double scale) {
  const int64_t highest = config.sampling_rate() / 2;  // transformers divides integers, too
  MelOptions mel{.num_bands = config.integer("num_mel_bins", bands, 1, 1024),
                 .fft_size = kFft,
                 .sampling_rate = static_cast<double>(config.sampling_rate()),
                 .min_hertz = 20,
                 .max_hertz = static_cast<double>(highest),
                 .scale = MelScale::Kaldi,
                 .linear_in_mel = true};
  FrameOptions frames{.hop = kHop,
                      .fft_size = kFft,
                      .window = window_function(window, kFrame, false),
                      .scale = scale,
                      .remove_mean = true,
                      .preemphasis = 0.97};
  return {std::move(frames), mel_bands(mel)};
}

class KaldiKind : public FeatureKind {
 public:
  KaldiKind(ExtractorConfig& config, int64_t bands, Window window, double scale, bool with_mask)
      : with_mask_(config.flag("return_attention_mask", with_mask)),
        spectrogram_(kaldi_spectrogram(config, bands, window, scale)) {}

  size_t hop() const override { return kHop; }

 protected:
  std::vector<float> rows_of(std::span<const float> samples) const {
    return log_mel_rows(spectrogram_, {samples, samples.size()}, kKaldiFloor);
  }
  size_t bands() const { return spectrogram_.num_bands(); }

  bool with_mask_;

 private:
  MelSpectrogram spectrogram_;
};

// Speech2Text's: each band has mean 0 and variance 1 over the recording.
class SpeechToTextKind : public KaldiKind {
 public:
  explicit SpeechToTextKind(ExtractorConfig& config)
      : KaldiKind(config, 80, Window::Povey, 32768, true) {
    const bool normalize = config.flag("do_ceptral_normalize", true);
    norm_.means = config.flag("normalize_means", true) && normalize;
    norm_.variances = config.flag("normalize_vars", true) && normalize;
    config.require_number("dither", 0);
    config.ignore("padding_value");
  }

  Features compute(std::span<const float> samples) const override {
    auto rows = rows_of(samples);
    const size_t count = rows.size() / bands();
    normalize_columns(rows, count, bands(), norm_);
    Features features = row_features("input_features", std::move(rows), bands());
    if (with_mask_) add_mask(features, "attention_mask", count, count);
    return features;
  }

 private:
  ColumnNorm norm_;
};

// The audio spectrogram transformer's: a fixed number of frames, normalized by constants.
class SpectrogramTransformerKind : public KaldiKind {
 public:
  explicit SpectrogramTransformerKind(ExtractorConfig& config)
      : KaldiKind(config, 128, Window::Hann, 1, false),
        length_(static_cast<size_t>(config.integer("max_length", 1024, 1, 1 << 20))) {
    check_size(config, "max_length", length_, bands());
    const double mean = config.number("mean", -4.2677393, -1e6, 1e6);
    const double deviation = config.number("std", 4.5689974, 1e-6, 1e6);
    config.ignore("padding_value");
    if (config.flag("do_normalize", true)) {
      mean_ = mean;
      divisor_ = 2 * deviation;
    }
  }

  size_t max_samples() const override { return kFrame + (length_ - 1) * kHop; }

  Features compute(std::span<const float> samples) const override {
    auto rows = rows_of(samples);
    const size_t count = rows.size() / bands();
    rows.resize(length_ * bands());
    for (float& value : rows) value = static_cast<float>((value - mean_) / divisor_);
    Features features = row_features("input_values", std::move(rows), bands());
    if (with_mask_) add_mask(features, "attention_mask", length_, count);
    return features;
  }

 private:
  size_t length_;
  double mean_ = 0, divisor_ = 1;
};

// SeamlessM4T's and Wav2Vec2-BERT's: several normalized frames per row.
class SeamlessKind : public KaldiKind {
 public:
  explicit SeamlessKind(ExtractorConfig& config)
      : KaldiKind(config, 80, Window::Povey, 32768, true),
        stride_(static_cast<size_t>(config.integer("stride", 2, 1, 64))),
        padding_(static_cast<float>(config.number("padding_value", 0, -1e30, 1e30))) {}

  size_t hop() const override { return kHop * stride_; }

  Features compute(std::span<const float> samples) const override {
    auto rows = rows_of(samples);
    const size_t count = rows.size() / bands();
    if (count < 2) {
      fail(ErrorCode::InvalidArgument, "the recording has {} samples, the features need {}",
           samples.size(), kFrame + kHop);
    }
    normalize_columns(rows, count, bands(), {.sample_variance = true, .variance_epsilon = 1e-7});
    // An odd number of frames is padded; frames that do not fill a row are dropped.
    const size_t num_rows = align_up<size_t>(count, 2) / stride_;
    rows.resize(num_rows * stride_ * bands(), padding_);
    Features features = row_features("input_features", std::move(rows), stride_ * bands());
    // A row counts if its second frame does.
    if (with_mask_) add_mask(features, "attention_mask", num_rows, (count + stride_ - 2) / stride_);
    return features;
  }

 private:
  size_t stride_;
  float padding_;
};

}  // namespace

std::shared_ptr<FeatureKind> read_speech_to_text(ExtractorConfig& config) {
  return std::make_shared<SpeechToTextKind>(config);
}
std::shared_ptr<FeatureKind> read_spectrogram_transformer(ExtractorConfig& config) {
  return std::make_shared<SpectrogramTransformerKind>(config);
}
std::shared_ptr<FeatureKind> read_seamless(ExtractorConfig& config) {
  return std::make_shared<SeamlessKind>(config);
}

}  // namespace pippin::sound
