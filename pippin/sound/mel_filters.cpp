#include "pippin/sound/mel_filters.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace pippin::sound {

namespace {

// Slaney's scale is linear below 1000 Hz (15 mels), and logarithmic above.
constexpr double kSlaneyHertz = 1000, kSlaneyMels = 15;
const double slaney_step = std::log(6.4) / 27;

}  // namespace

double hertz_to_mel(double hertz, MelScale scale) {
  switch (scale) {
    case MelScale::Htk:
      return 2595 * std::log10(1 + hertz / 700);
    case MelScale::Kaldi:
      return 1127 * std::log(1 + hertz / 700);
    case MelScale::Slaney:
      break;
  }
  if (hertz < kSlaneyHertz) return 3 * hertz / 200;
  return kSlaneyMels + std::log(hertz / kSlaneyHertz) / slaney_step;
}

double mel_to_hertz(double mel, MelScale scale) {
  switch (scale) {
    case MelScale::Htk:
      return 700 * (std::pow(10, mel / 2595) - 1);
    case MelScale::Kaldi:
      return 700 * (std::exp(mel / 1127) - 1);
    case MelScale::Slaney:
      break;
  }
  if (mel < kSlaneyMels) return 200 * mel / 3;
  return kSlaneyHertz * std::exp(slaney_step * (mel - kSlaneyMels));
}

std::vector<MelBand> mel_bands(const MelOptions& options) {
  const size_t num_bands = static_cast<size_t>(options.num_bands);
  const size_t num_bins = options.fft_size / 2 + 1;
  const double first_mel = hertz_to_mel(options.min_hertz, options.scale);
  const double last_mel = hertz_to_mel(options.max_hertz, options.scale);
  // The corners of the triangles; band i rises from corner i to i + 1 and falls to i + 2.
  std::vector<double> hertz(num_bands + 2), corners(num_bands + 2);
  for (size_t i = 0; i < corners.size(); ++i) {
    const double mel = first_mel + (last_mel - first_mel) * static_cast<double>(i) /
                                       static_cast<double>(num_bands + 1);
    hertz[i] = mel_to_hertz(mel, options.scale);
    corners[i] = options.linear_in_mel ? mel : hertz[i];
  }
  std::vector<double> places(num_bins);
  for (size_t bin = 0; bin < num_bins; ++bin) {
    const double frequency =
        options.sampling_rate * static_cast<double>(bin) / static_cast<double>(options.fft_size);
    places[bin] = options.linear_in_mel ? hertz_to_mel(frequency, options.scale) : frequency;
  }
  std::vector<MelBand> bands(num_bands);
  for (size_t i = 0; i < num_bands; ++i) {
    MelBand& band = bands[i];
    // The areas are of triangles over hertz, also if they are straight over mels.
    const double scale = options.unit_area ? 2 / (hertz[i + 2] - hertz[i]) : 1;
    for (size_t bin = options.without_first_bin ? 1 : 0; bin < num_bins; ++bin) {
      const double rising = (places[bin] - corners[i]) / (corners[i + 1] - corners[i]);
      const double falling = (corners[i + 2] - places[bin]) / (corners[i + 2] - corners[i + 1]);
      const double height = std::min(rising, falling);
      if (!(height > 0)) continue;
      if (band.weights.empty()) band.first_bin = bin;
      band.weights.resize(bin - band.first_bin + 1);
      band.weights.back() = scale * height;
    }
  }
  return bands;
}

std::vector<MelBand> given_bands(const std::vector<double>& weights, size_t bins) {
  std::vector<MelBand> bands(weights.size() / bins);
  for (size_t i = 0; i < bands.size(); ++i) {
    const auto row = std::span(weights).subspan(i * bins, bins);
    const auto is_used = [](double weight) { return weight != 0; };
    const auto first = std::find_if(row.begin(), row.end(), is_used);
    const auto last = std::find_if(row.rbegin(), row.rend(), is_used).base();
    bands[i].first_bin = static_cast<size_t>(first - row.begin());
    if (first < last) bands[i].weights.assign(first, last);
  }
  return bands;
}

std::vector<double> window_function(Window window, size_t length, bool periodic) {
  std::vector<double> values(length, 1.0);
  const double period = static_cast<double>(periodic ? length : length - 1);
  if (length == 1) return values;
  for (size_t i = 0; i < length; ++i) {
    const double wave = std::cos(2 * std::numbers::pi * static_cast<double>(i) / period);
    switch (window) {
      case Window::Hann:
        values[i] = 0.5 - 0.5 * wave;
        break;
      case Window::Hamming:
        values[i] = 0.54 - 0.46 * wave;
        break;
      case Window::Povey:
        values[i] = std::pow(0.5 - 0.5 * wave, 0.85);
        break;
    }
  }
  return values;
}

}  // namespace pippin::sound
