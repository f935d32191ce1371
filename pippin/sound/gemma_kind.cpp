// Gemma 3n's and Gemma 4's log-mel features: sums of amplitudes, of frames that end at multiples of
// the hop in Gemma 4.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"

namespace pippin::sound {

namespace {

constexpr size_t kMaxSamples = 480000;
constexpr size_t kPadding = 128;  // recordings are padded to a multiple

struct GemmaFrames {
  bool is_causal = false;  // Gemma 4's
  size_t length = 0, hop = 0;
};

GemmaFrames read_frames(ExtractorConfig& config) {
  GemmaFrames frames;
  frames.is_causal = config.type() == "Gemma4AudioFeatureExtractor";
  frames.length = read_frame_length(config, "frame_length", frames.is_causal ? 320 : 512, 1 << 13);
  frames.hop = read_hop(config, "hop_length", 160);
  return frames;
}

MelSpectrogram gemma_spectrogram(ExtractorConfig& config, const GemmaFrames& frames) {
  const double rate = static_cast<double>(config.sampling_rate());
  const bool overdrive = config.flag("fft_overdrive", !frames.is_causal);
  const size_t fft_size = std::bit_ceil(frames.length) * (overdrive ? 2 : 1);
  config.check_derived("fft_length", static_cast<int64_t>(fft_size), "the padded frame_length");
  const MelOptions mel{
      .num_bands = config.integer("feature_size", 128, 1, 1024),
      .fft_size = fft_size,
      .sampling_rate = rate,
      .min_hertz = config.number("min_frequency", frames.is_causal ? 0 : 125, 0, rate),
      .max_hertz = config.number("max_frequency", frames.is_causal ? 8000 : 7600, 0, rate),
      .scale = MelScale::Htk};
  if (!(mel.min_hertz < mel.max_hertz)) {
    config.invalid("max_frequency", fmt::format("{} is not above min_frequency", mel.max_hertz));
  }
  FrameOptions options{
      .hop = frames.hop,
      .fft_size = fft_size,
      .window = window_function(Window::Hann, frames.length, true),
      .scale = config.number("input_scale_factor", 1, -1e6, 1e6),
      .preemphasis = config.number("preemphasis", frames.is_causal ? 0 : 0.97, 0, 1),
      .magnitudes = true};
  config.require_flag("preemphasis_htk_flavor", true);
  return {std::move(options), mel_bands(mel)};
}

class GemmaKind : public FeatureKind {
 public:
  explicit GemmaKind(ExtractorConfig& config)
      : frames_(read_frames(config)),
        floor_(config.number("mel_floor", frames_.is_causal ? 1e-3 : 1e-5, 1e-30, 1e30)),
        with_mask_(config.flag("return_attention_mask", true)),
        spectrogram_(gemma_spectrogram(config, frames_)) {
    config.require_number("padding_value", 0);
    config.require_number("dither", 0);
    means_ = read_bands(config, "per_bin_mean", 0);
    deviations_ = read_bands(config, "per_bin_stddev", 1);
  }

  size_t max_samples() const override { return kMaxSamples; }
  size_t hop() const override { return frames_.hop; }
  Features compute(std::span<const float> samples) const override;

 private:
  std::vector<double> read_bands(ExtractorConfig& config, std::string_view key,
                                 double fallback) const {
    config.ignore(key);
    const size_t bands = spectrogram_.num_bands();
    const auto found = config.json().find(key);
    if (!found) return std::vector<double>(bands, fallback);
    auto values = found->as_floats();
    if (values.size() != bands) {
      config.invalid(key, fmt::format("{} numbers for {} bands", values.size(), bands));
    }
    if (key == "per_bin_stddev" && !ranges::all_of(values, [](double x) { return x > 0; })) {
      config.invalid(key, "a deviation is not above 0");
    }
    return values;
  }

  GemmaFrames frames_;
  double floor_;
  bool with_mask_;
  MelSpectrogram spectrogram_;
  std::vector<double> means_, deviations_;
};

Features GemmaKind::compute(std::span<const float> samples) const {
  // Causal frames begin half a frame before the recording. A frame needs a further sample, which
  // some forms of preemphasis would use.
  const size_t before = frames_.is_causal ? frames_.length / 2 : 0;
  std::vector<float> shifted;
  if (before != 0) {
    shifted.assign(before + samples.size(), 0);
    std::copy(samples.begin(), samples.end(), shifted.begin() + static_cast<ptrdiff_t>(before));
  }
  PaddedSamples input{before != 0 ? std::span<const float>(shifted) : samples,
                      before + align_up(samples.size(), kPadding)};
  spectrogram_.check_length(input.length - std::min<size_t>(1, input.length));
  --input.length;
  const size_t bands = spectrogram_.num_bands();
  auto rows = mel_rows(spectrogram_, input, [this](double sum) {
    return std::log(frames_.is_causal ? sum + floor_ : std::max(sum, floor_));
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<float>((rows[i] - means_[i % bands]) / deviations_[i % bands]);
  }
  Features features = row_features("input_features", std::move(rows), bands);
  const auto count = static_cast<size_t>(features.shape[1]);
  // A frame counts if its first sample does, a causal one if its last does.
  const size_t end = frames_.is_causal ? frames_.length : 0;
  add_mask(features, "input_features_mask", count, count);
  for (size_t i = 0; i < count; ++i) {
    if (i * frames_.hop + end < before + samples.size()) continue;
    features.mask[i] = 0;
    if (frames_.is_causal) {
      std::fill_n(features.values.begin() + static_cast<ptrdiff_t>(i * bands), bands, 0.0F);
    }
  }
  if (!with_mask_) {
    features.mask_name.clear();
    features.mask.clear();
  }
  return features;
}

}  // namespace

std::shared_ptr<FeatureKind> read_gemma(ExtractorConfig& config) {
  return std::make_shared<GemmaKind>(config);
}

}  // namespace pippin::sound
