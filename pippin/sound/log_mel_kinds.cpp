// Log-mel features of single models: Granite Speech, LASR, Phi-4 multimodal.
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"

namespace pippin::sound {

namespace {

// LASR's: natural logarithms of frames inside of the recording.
class LasrKind : public FeatureKind {
 public:
  explicit LasrKind(ExtractorConfig& config)
      : hop_(read_hop(config, "hop_length", 160)),
        with_mask_(config.flag("return_attention_mask", false)),
        spectrogram_(spectrogram(config)) {
    config.ignore("padding_value");
  }

  size_t hop() const override { return hop_; }
  Features compute(std::span<const float> samples) const override {
    auto rows = log_mel_rows(spectrogram_, {samples, samples.size()}, 1e-5);
    Features features = row_features("input_features", std::move(rows), spectrogram_.num_bands());
    const auto count = static_cast<size_t>(features.shape[1]);
    if (with_mask_) add_mask(features, "attention_mask", count, count);
    return features;
  }

 private:
  static MelSpectrogram spectrogram(ExtractorConfig& config) {
    const size_t fft_size = read_fft_size(config, "n_fft", 512);
    const size_t length = read_frame_length(config, "win_length", 400, fft_size);
    FrameOptions frames{.hop = read_hop(config, "hop_length", 160),
                        .fft_size = fft_size,
                        .window = window_function(Window::Hann, length, false)};
    return {std::move(frames),
            mel_bands({.num_bands = config.integer("feature_size", 128, 1, 1024),
                       .fft_size = fft_size,
                       .sampling_rate = static_cast<double>(config.sampling_rate()),
                       .min_hertz = 125,
                       .max_hertz = 7500,
                       .scale = MelScale::Kaldi,
                       .linear_in_mel = true,
                       .without_first_bin = true})};
  }

  size_t hop_;
  bool with_mask_;
  MelSpectrogram spectrogram_;
};

// Phi-4 multimodal's: natural logarithms, of samples in the range of 16-bit integers.
class PhiKind : public FeatureKind {
 public:
  explicit PhiKind(ExtractorConfig& config)
      : hop_(read_hop(config, "hop_length", 160)), spectrogram_(spectrogram(config)) {
    config.ignore("padding_value");
    config.ignore("return_attention_mask");  // only for several recordings
    for (std::string_view key :
         {"audio_compression_rate", "audio_downsample_rate", "audio_feat_stride"}) {
      config.ignore(key);  // give the number of tokens, not the features
    }
  }

  size_t hop() const override { return hop_; }
  Features compute(std::span<const float> samples) const override {
    auto rows = log_mel_rows(spectrogram_, {samples, samples.size()}, 1);
    return row_features("audio_input_features", std::move(rows), spectrogram_.num_bands());
  }

 private:
  static MelSpectrogram spectrogram(ExtractorConfig& config) {
    const double rate = static_cast<double>(config.sampling_rate());
    const size_t fft_size = read_fft_size(config, "n_fft", 512);
    const size_t length = read_frame_length(config, "win_length", 400, fft_size);
    FrameOptions frames{.hop = read_hop(config, "hop_length", 160),
                        .fft_size = fft_size,
                        .window = window_function(Window::Hamming, length, false),
                        .scale = 32768,
                        .preemphasis = config.number("preemphasis", 0.97, 0, 1)};
    const MelOptions mel{.num_bands = config.integer("feature_size", 80, 1, 1024),
                         .fft_size = fft_size,
                         .sampling_rate = rate,
                         .min_hertz = config.number("mel_min_frequency", 0, 0, rate),
                         .max_hertz = config.number("mel_max_frequency", 7690, 0, rate),
                         .scale = MelScale::Kaldi,
                         .linear_in_mel = true};
    if (!(mel.min_hertz < mel.max_hertz)) {
      config.invalid("mel_max_frequency",
                     fmt::format("{} is not above mel_min_frequency", mel.max_hertz));
    }
    return {std::move(frames), mel_bands(mel)};
  }

  size_t hop_;
  MelSpectrogram spectrogram_;
};

// Granite Speech's: Whisper's logarithms of the whole recording, two frames per row.
class GraniteKind : public FeatureKind {
 public:
  explicit GraniteKind(ExtractorConfig& config)
      : hop_(static_cast<size_t>(setting(config, "hop_length", 160, 1 << 16))),
        window_size_(static_cast<size_t>(config.integer("projector_window_size", 15, 1, 1 << 16))),
        tokens_(window_size_ /
                static_cast<size_t>(config.integer("projector_downsample_rate", 5, 1, 1 << 16))),
        spectrogram_(spectrogram(config)) {
    config.ignore("padding_value");
    config.ignore("return_attention_mask");
  }

  size_t hop() const override { return 2 * hop_; }
  Features compute(std::span<const float> samples) const override {
    const size_t bands = spectrogram_.num_bands();
    auto rows = mel_rows(spectrogram_, {samples, samples.size()},
                         [](double sum) { return std::log10(std::max(sum, 1e-10)); });
    if (rows.size() < 2 * bands) {
      fail(ErrorCode::InvalidArgument, "the recording has {} samples, the features need {}",
           samples.size(), hop_);
    }
    const float least = *std::max_element(rows.begin(), rows.end()) - 8;
    for (float& value : rows) value = std::max(value, least) / 4 + 1;
    rows.resize(rows.size() / (2 * bands) * (2 * bands));
    Features features = row_features("input_features", std::move(rows), 2 * bands);
    // The mask is of the tokens that the projector makes of the rows.
    const size_t tokens = ceil_div(static_cast<size_t>(features.shape[1]), window_size_) * tokens_;
    add_mask(features, "input_features_mask", tokens, tokens);
    return features;
  }

 private:
  static int64_t setting(ExtractorConfig& config, std::string_view key, int64_t fallback,
                         int64_t max) {
    config.ignore("melspec_kwargs");
    const auto settings = config.json().find("melspec_kwargs");
    const auto value = settings ? settings->find(key) : std::nullopt;
    return value ? value->as_int(1, max) : fallback;
  }

  static MelSpectrogram spectrogram(ExtractorConfig& config) {
    if (const auto settings = config.json().find("melspec_kwargs")) {
      for (const auto& [key, value] : settings->members()) {
        if (key != "hop_length" && key != "n_fft" && key != "n_mels" && key != "sample_rate" &&
            key != "win_length") {
          fail(ErrorCode::Unsupported, "{}: not a supported key", settings->where(key));
        }
      }
    }
    const auto fft_size = static_cast<size_t>(setting(config, "n_fft", 512, 1 << 14));
    const auto length = static_cast<size_t>(setting(config, "win_length", 400, 1 << 14));
    if (length > fft_size) {
      config.invalid("melspec_kwargs",
                     fmt::format("win_length {} is above n_fft {}", length, fft_size));
    }
    const double rate =
        static_cast<double>(setting(config, "sample_rate", config.sampling_rate(), 768000));
    FrameOptions frames{.hop = static_cast<size_t>(setting(config, "hop_length", 160, 1 << 16)),
                        .fft_size = fft_size,
                        .window = window_function(Window::Hann, length, true),
                        .edge = Edge::Reflect};
    return {std::move(frames), mel_bands({.num_bands = setting(config, "n_mels", 80, 1024),
                                          .fft_size = fft_size,
                                          .sampling_rate = rate,
                                          .max_hertz = rate / 2,
                                          .scale = MelScale::Htk})};
  }

  size_t hop_, window_size_, tokens_;
  MelSpectrogram spectrogram_;
};

}  // namespace

std::shared_ptr<FeatureKind> read_lasr(ExtractorConfig& config) {
  return std::make_shared<LasrKind>(config);
}
std::shared_ptr<FeatureKind> read_phi(ExtractorConfig& config) {
  return std::make_shared<PhiKind>(config);
}
std::shared_ptr<FeatureKind> read_granite(ExtractorConfig& config) {
  return std::make_shared<GraniteKind>(config);
}

}  // namespace pippin::sound
