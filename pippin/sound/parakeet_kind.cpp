// Parakeet's and Cohere's log-mel features: preemphasis of the whole recording, and each band
// normalized over it.
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/log_mel.h"
#include "pippin/sound/normalize.h"
#include "pippin/sound/torch_random.h"

namespace pippin::sound {

namespace {

constexpr size_t kLeastSamples = 16;            // for torch_normal()
const double log_guard = std::ldexp(1.0, -24);  // added to the sums

MelSpectrogram parakeet_spectrogram(ExtractorConfig& config) {
  const double rate = static_cast<double>(config.sampling_rate());
  const size_t fft_size = read_fft_size(config, "n_fft", 512);
  const size_t length = read_frame_length(config, "win_length", 400, fft_size);
  MelOptions mel{.num_bands = config.integer("feature_size", 80, 1, 1024),
                 .fft_size = fft_size,
                 .sampling_rate = rate,
                 .max_hertz = rate / 2,
                 .scale = MelScale::Slaney,
                 .unit_area = true};
  FrameOptions frames{.hop = read_hop(config, "hop_length", 160),
                      .fft_size = fft_size,
                      .window = window_function(Window::Hann, length, false),
                      .edge = Edge::Zeros};
  return {std::move(frames), mel_bands(mel)};
}

class ParakeetKind : public FeatureKind {
 public:
  explicit ParakeetKind(ExtractorConfig& config)
      : hop_(read_hop(config, "hop_length", 160)),
        preemphasis_(config.number("preemphasis", 0.97, 0, 1)),
        with_mask_(config.flag("return_attention_mask", true)),
        spectrogram_(parakeet_spectrogram(config)) {
    config.ignore("padding_value");  // only of shorter recordings in a batch
    if (config.type() != "CohereAsrFeatureExtractor") return;
    dither_ = static_cast<float>(config.number("dither", 1e-5, 0, 1));
    const double seconds = config.number("max_audio_clip_s", 35, 1, 3600);
    longest_ = static_cast<size_t>(seconds * static_cast<double>(config.sampling_rate()));
    // Say where longer recordings are cut.
    config.ignore("min_energy_window_samples");
    config.ignore("overlap_chunk_second");
  }

  size_t hop() const override { return hop_; }

  Features compute(std::span<const float> samples) const override {
    // The last of the frames counts as padding.
    const size_t count = samples.size() / hop_;
    if (count < 2 || samples.size() < kLeastSamples) {
      fail(ErrorCode::InvalidArgument, "the recording has {} samples, the features need {}",
           samples.size(), std::max(2 * hop_, kLeastSamples));
    }
    if (longest_ != 0 && samples.size() > longest_) {
      fail(ErrorCode::InvalidArgument,
           "the recording has {} samples, the model takes at most {} at a time", samples.size(),
           longest_);
    }
    std::vector<float> filtered(samples.begin(), samples.end());
    if (dither_ != 0) {
      // The noise is the same for each recording of one length.
      const auto noise = torch_normal(samples.size(), static_cast<uint32_t>(samples.size()));
      for (size_t i = 0; i < filtered.size(); ++i) filtered[i] += dither_ * noise[i];
    }
    for (size_t i = filtered.size(); i-- > 1;) {
      filtered[i] = static_cast<float>(filtered[i] - preemphasis_ * filtered[i - 1]);
    }
    auto rows = mel_rows(spectrogram_, {filtered, filtered.size()},
                         [](double sum) { return std::log(sum + log_guard); });
    const size_t bands = spectrogram_.num_bands();
    normalize_columns(rows, count, bands, {.sample_variance = true, .deviation_epsilon = 1e-5});
    std::fill(rows.begin() + static_cast<ptrdiff_t>(count * bands), rows.end(), 0.0F);
    Features features = row_features("input_features", std::move(rows), bands);
    if (with_mask_) {
      add_mask(features, "attention_mask", static_cast<size_t>(features.shape[1]), count);
    }
    return features;
  }

 private:
  size_t hop_;
  double preemphasis_;
  bool with_mask_;
  float dither_ = 0;
  size_t longest_ = 0;  // 0: any length
  MelSpectrogram spectrogram_;
};

}  // namespace

std::shared_ptr<FeatureKind> read_parakeet(ExtractorConfig& config) {
  return std::make_shared<ParakeetKind>(config);
}

}  // namespace pippin::sound
