#include "pippin/models/encoders/log_mel.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/mil/value.h"
#include "pippin/sound/mel_filters.h"

namespace pippin::models {
namespace {

using array::Array;

constexpr int64_t kFrame = 400;  // samples
constexpr int64_t kSpectrum = kFrame / 2 + 1;
constexpr double kRate = 16000;
constexpr double kLeastPower = 1e-10;
constexpr double kRange = 8;  // decades below the loudest value
constexpr mil::DataType kMelType = mil::DataType::Float32;

// The cosines of a windowed Fourier transform, then its sines, as kernels of a convolution.
Array fourier_kernels() {
  const auto window =
      sound::window_function(sound::Window::Hann, static_cast<size_t>(kFrame), /*periodic=*/true);
  std::vector<double> values;
  values.reserve(static_cast<size_t>(2 * kSpectrum * kFrame));
  for (const bool sine : {false, true}) {
    for (int64_t bin = 0; bin < kSpectrum; ++bin) {
      for (int64_t i = 0; i < kFrame; ++i) {
        // The product counts turns in units of 1 / kFrame, so whole turns are exact.
        const auto part = static_cast<double>(bin * i % kFrame);
        const double angle = 2 * std::numbers::pi * part / static_cast<double>(kFrame);
        values.push_back(window[static_cast<size_t>(i)] *
                         (sine ? std::sin(angle) : std::cos(angle)));
      }
    }
  }
  return array::constant(kMelType, {2 * kSpectrum, 1, kFrame}, values, "fourier");
}

// (1, bins, kSpectrum).
Array mel_matrix(int64_t bins) {
  const auto bands = sound::mel_bands({.num_bands = bins,
                                       .fft_size = static_cast<size_t>(kFrame),
                                       .sampling_rate = kRate,
                                       .max_hertz = kRate / 2,
                                       .scale = sound::MelScale::Slaney,
                                       .unit_area = true});
  std::vector<double> values(static_cast<size_t>(bins * kSpectrum));
  for (size_t band = 0; band < bands.size(); ++band) {
    const auto first = band * static_cast<size_t>(kSpectrum) + bands[band].first_bin;
    for (size_t i = 0; i < bands[band].weights.size(); ++i) {
      values[first + i] = bands[band].weights[i];
    }
  }
  return array::constant(kMelType, {1, bins, kSpectrum}, values, "mel");
}

Array mirrored(const Array& samples) {
  constexpr int64_t kHalf = kFrame / 2;
  return array::record_one("pad", {{"x", samples},
                                   {"pad", std::vector<int64_t>{0, 0, 0, 0, kHalf, kHalf}},
                                   {"mode", "reflect"},
                                   {"constant_val", array::constant(kMelType, 0.0)}});
}

}  // namespace

Array log_mel(const Array& audio, int64_t bins, int64_t frames) {
  const array::Scope scope("log_mel");
  const Array waves = array::record_one("conv", {{"x", mirrored(array::expand_dims(audio, {0, 1}))},
                                                 {"weight", fourier_kernels()},
                                                 {"strides", std::vector<int64_t>{kLogMelHop}},
                                                 {"pad_type", "valid"}});
  // The last frame does not count.
  const auto part = [&](int64_t begin) {
    const Array rows = array::slice_axis(waves, 1, begin, begin + kSpectrum);
    return array::square(array::slice_axis(rows, 2, 0, frames));
  };
  const Array powers = array::matmul(mel_matrix(bins), part(0) + part(kSpectrum));
  const Array logs = array::record_one("log", {{"x", array::maximum(powers, kLeastPower)}}) *
                     (1 / std::numbers::ln10);
  const Array least = array::reduce_max(logs, {1, 2}, /*keep_dims=*/true) + -kRange;
  return array::maximum(logs, least) * 0.25 + 1.0;
}

}  // namespace pippin::models
