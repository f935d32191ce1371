// CLAP's features: decibels of a mel spectrogram, of recordings that are repeated to 10 s.
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"

namespace pippin::sound {

namespace {

enum class ClapPadding : uint8_t { Zeros, Repeat, RepeatWhole };

ClapPadding read_padding(ExtractorConfig& config) {
  const std::string padding = config.text("padding", "repeatpad");
  if (padding == "pad") return ClapPadding::Zeros;
  if (padding == "repeat") return ClapPadding::Repeat;
  if (padding == "repeatpad") return ClapPadding::RepeatWhole;
  config.unsupported("padding",
                     fmt::format("'{}' (only 'repeatpad', 'repeat' and 'pad')", padding));
}

MelSpectrogram clap_spectrogram(ExtractorConfig& config) {
  const double rate = static_cast<double>(config.sampling_rate());
  const size_t fft_size = read_fft_size(config, "fft_window_size", 1024);
  config.check_derived("nb_frequency_bins", static_cast<int64_t>(fft_size / 2 + 1),
                       "fft_window_size / 2 + 1");
  const MelOptions mel{.num_bands = config.integer("feature_size", 64, 1, 1024),
                       .fft_size = fft_size,
                       .sampling_rate = rate,
                       .min_hertz = config.number("frequency_min", 0, 0, rate),
                       .max_hertz = config.number("frequency_max", 14000, 0, rate),
                       .scale = MelScale::Slaney,
                       .unit_area = true};
  if (!(mel.min_hertz < mel.max_hertz)) {
    config.invalid("frequency_max", fmt::format("{} is not above frequency_min", mel.max_hertz));
  }
  FrameOptions frames{.hop = read_hop(config, "hop_length", 480),
                      .fft_size = fft_size,
                      .window = window_function(Window::Hann, fft_size, true),
                      .edge = Edge::Reflect};
  return {std::move(frames), mel_bands(mel)};
}

class ClapKind : public FeatureKind {
 public:
  explicit ClapKind(ExtractorConfig& config)
      : hop_(read_hop(config, "hop_length", 480)),
        length_(static_cast<size_t>(config.integer("max_length_s", 10, 1, 3600) *
                                    config.sampling_rate())),
        padding_(read_padding(config)),
        spectrogram_(clap_spectrogram(config)) {
    config.check_derived("nb_max_samples", static_cast<int64_t>(length_),
                         "max_length_s * sampling_rate");
    // "fusion" has other filters, and four spectrograms per recording.
    const std::string truncation = config.text("truncation", "fusion");
    if (truncation != "rand_trunc") {
      config.unsupported("truncation", fmt::format("'{}' (only 'rand_trunc')", truncation));
    }
    if (config.json().has("top_db")) config.unsupported("top_db", "a number");
    config.ignore("top_db");
    config.ignore("padding_value");
    config.ignore("return_attention_mask");
    spectrogram_.check_length(length_);
    check_size(config, "hop_length", spectrogram_.num_frames(length_), spectrogram_.num_bands());
  }

  size_t hop() const override { return hop_; }
  Features compute(std::span<const float> samples) const override;

 private:
  size_t hop_, length_;
  ClapPadding padding_;
  MelSpectrogram spectrogram_;
};

Features ClapKind::compute(std::span<const float> samples) const {
  if (samples.empty() || samples.size() > length_) {
    // transformers takes a random part of a longer recording.
    fail(ErrorCode::InvalidArgument, "the recording has {} samples, the features need 1 to {}",
         samples.size(), length_);
  }
  size_t count = samples.size();
  if (padding_ == ClapPadding::Repeat) count = length_;
  if (padding_ == ClapPadding::RepeatWhole) count *= length_ / count;
  std::vector<float> repeated(count);
  for (size_t i = 0; i < count; ++i) repeated[i] = samples[i % samples.size()];
  auto rows = mel_rows(spectrogram_, {repeated, length_},
                       [](double sum) { return 10 * std::log10(std::max(sum, 1e-10)); });
  Features features = row_features("input_features", std::move(rows), spectrogram_.num_bands());
  features.shape.insert(features.shape.begin() + 1, 1);
  return features;
}

}  // namespace

std::shared_ptr<FeatureKind> read_clap(ExtractorConfig& config) {
  return std::make_shared<ClapKind>(config);
}

}  // namespace pippin::sound
