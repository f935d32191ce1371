#include "pippin/sound/whisper_kind.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/sound/frame_keys.h"
#include "pippin/sound/kinds.h"
#include "pippin/sound/mel_filters.h"
#include "pippin/sound/normalize.h"

namespace pippin::sound {

namespace {

constexpr double kLeastPower = 1e-10;
constexpr float kRange = 8;  // decades below the loudest value

// The filters of a GGML file that has others than the usual ones: a list of weights for each band.
std::vector<MelBand> read_given_bands(const Json& list, size_t bands, size_t bins) {
  const std::vector<Json> rows = list.elements();
  if (rows.size() != bands) {
    list.invalid(fmt::format("has {} filters for {} features", rows.size(), bands));
  }
  std::vector<double> weights;
  weights.reserve(bands * bins);
  for (const Json& row : rows) {
    const std::vector<double> numbers = row.as_floats();
    if (numbers.size() != bins) {
      row.invalid(fmt::format("has {} weights for {} bins", numbers.size(), bins));
    }
    weights.insert(weights.end(), numbers.begin(), numbers.end());
  }
  return given_bands(weights, bins);
}

MelSpectrogram whisper_spectrogram(ExtractorConfig& config) {
  const double rate = static_cast<double>(config.sampling_rate());
  const size_t fft_size = read_fft_size(config, "n_fft", 400);
  MelOptions mel{.num_bands = config.integer("feature_size", 80, 1, 1024),
                 .fft_size = fft_size,
                 .sampling_rate = rate,
                 .max_hertz = 8000,
                 .scale = MelScale::Slaney,
                 .unit_area = true};
  FrameOptions frames{.hop = read_hop(config, "hop_length", 160),
                      .fft_size = fft_size,
                      .window = window_function(Window::Hann, fft_size, true),
                      .edge = Edge::Reflect};
  config.ignore("ggml_mel_filters");
  const auto given = config.json().find("ggml_mel_filters");
  return {std::move(frames),
          given ? read_given_bands(*given, static_cast<size_t>(mel.num_bands), fft_size / 2 + 1)
                : mel_bands(mel)};
}

size_t read_max_samples(ExtractorConfig& config, size_t hop) {
  const int64_t seconds = config.integer("chunk_length", 30, 1, 3600);
  const int64_t samples = seconds * config.sampling_rate();
  config.check_derived("n_samples", samples, "chunk_length * sampling_rate");
  config.check_derived("nb_max_frames", samples / static_cast<int64_t>(hop),
                       "n_samples / hop_length");
  return static_cast<size_t>(samples);
}

}  // namespace

WhisperKind::WhisperKind(ExtractorConfig& config)
    : hop_(read_hop(config, "hop_length", 160)),
      max_samples_(read_max_samples(config, hop_)),
      with_mask_(config.flag("return_attention_mask", false)),
      normalize_(config.flag("do_normalize", false)),
      spectrogram_(whisper_spectrogram(config)) {
  config.require_number("padding_value", 0);
  config.require_number("dither", 0);  // random noise
  config.ignore("mel_filters");        // older files contain the numbers that follow from the rest
  spectrogram_.check_length(max_samples_);
  check_size(config, "hop_length", num_frames(max_samples_), spectrogram_.num_bands());
}

void WhisperKind::write_logarithms(const PaddedSamples& input, size_t first, size_t last,
                                   size_t stride, float* out) const {
  spectrogram_.compute(input, first, last, [&](size_t frame, std::span<const double> sums) {
    float* column = out + (frame - first);
    for (size_t band = 0; band < sums.size(); ++band) {
      column[band * stride] = std::log10(static_cast<float>(std::max(sums[band], kLeastPower)));
    }
  });
}

Features WhisperKind::empty_features(size_t count) const {
  Features features;
  features.name = "input_features";
  features.shape = {1, static_cast<int64_t>(spectrogram_.num_bands()), static_cast<int64_t>(count)};
  features.values.resize(spectrogram_.num_bands() * count);
  return features;
}

void WhisperKind::scale(std::span<float> values, float peak) {
  const float least = peak - kRange;
  for (float& value : values) value = (std::max(value, least) + 4) / 4;
}

float WhisperKind::peak(const PaddedSamples& input) const {
  double largest = kLeastPower;
  spectrogram_.compute(input, 0, num_frames(input.length),
                       [&](size_t, std::span<const double> sums) {
                         for (double sum : sums) largest = std::max(largest, sum);
                       });
  return std::log10(static_cast<float>(largest));
}

Features WhisperKind::window(const PaddedSamples& input, size_t first, size_t last, size_t count,
                             float peak) const {
  Features features = empty_features(count);
  write_logarithms(input, first, last, count, features.values.data());
  for (size_t band = 0; band < spectrogram_.num_bands(); ++band) {
    scale(std::span(features.values).subspan(band * count, last - first), peak);
  }
  return features;
}

Features WhisperKind::compute(std::span<const float> samples) const {
  std::vector<float> normalized;
  PaddedSamples input{samples, max_samples_};
  if (normalize_) {
    normalized = normalized_samples(samples);
    input.samples = normalized;
  }
  const size_t count = num_frames(max_samples_);
  Features features = empty_features(count);
  write_logarithms(input, 0, count, count, features.values.data());
  scale(features.values, *std::max_element(features.values.begin(), features.values.end()));
  if (with_mask_) {
    features.mask_name = "attention_mask";
    features.mask.resize(count);
    for (size_t i = 0; i < count; ++i) features.mask[i] = i * hop_ < samples.size() ? 1 : 0;
  }
  return features;
}

RecordingFeatures WhisperKind::frames_of(std::span<const float> samples) const {
  if (normalize_) fail(ErrorCode::Unsupported, "{}: do_normalize for parts of a recording", type);
  spectrogram_.check_length(samples.size());
  return {std::static_pointer_cast<const WhisperKind>(shared_from_this()), samples};
}

std::shared_ptr<FeatureKind> read_whisper(ExtractorConfig& config) {
  if (config.type() == "Qwen3ASRFeatureExtractor") {
    config.ignore("n_window");  // used by the model
    config.ignore("min_length");
  }
  return std::make_shared<WhisperKind>(config);
}

RecordingFeatures::RecordingFeatures(std::shared_ptr<const WhisperKind> kind,
                                     std::span<const float> samples)
    : kind_(std::move(kind)), samples_(samples), peak_(kind_->peak({samples, samples.size()})) {}

size_t RecordingFeatures::num_frames() const {
  return kind_->num_frames(samples_.size());
}

Features RecordingFeatures::window(size_t first, size_t count) const {
  if (first >= num_frames()) {
    fail(ErrorCode::InvalidArgument, "frame {} is after the last of {}", first, num_frames());
  }
  const size_t last = first + std::min(count, num_frames() - first);
  return kind_->window({samples_, samples_.size()}, first, last, count, peak_);
}

}  // namespace pippin::sound
