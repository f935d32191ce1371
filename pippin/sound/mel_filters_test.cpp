#include "pippin/sound/mel_filters.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pippin::sound {
namespace {

TEST(MelFilters, ScalesEqualTheirFormulas) {
  EXPECT_NEAR(hertz_to_mel(1000, MelScale::Htk), 999.9855, 1e-3);
  EXPECT_NEAR(hertz_to_mel(1000, MelScale::Kaldi), 999.9907, 1e-3);
  EXPECT_DOUBLE_EQ(hertz_to_mel(500, MelScale::Slaney), 7.5);
  EXPECT_DOUBLE_EQ(hertz_to_mel(1000, MelScale::Slaney), 15);
  EXPECT_NEAR(hertz_to_mel(6400, MelScale::Slaney), 42, 1e-12);
  for (MelScale scale : {MelScale::Htk, MelScale::Kaldi, MelScale::Slaney}) {
    for (double hertz : {0.0, 20.0, 999.0, 1001.0, 8000.0}) {
      EXPECT_NEAR(mel_to_hertz(hertz_to_mel(hertz, scale), scale), hertz, 1e-9);
    }
  }
}

double weight(const MelBand& band, size_t bin) {
  if (bin < band.first_bin || bin >= band.first_bin + band.weights.size()) return 0;
  return band.weights[bin - band.first_bin];
}

TEST(MelFilters, NeighboursSumToOneBetweenTheirPeaks) {
  for (bool linear_in_mel : {false, true}) {
    const MelOptions options{.num_bands = 20,
                             .fft_size = 512,
                             .sampling_rate = 16000,
                             .min_hertz = 100,
                             .max_hertz = 7000,
                             .scale = MelScale::Htk,
                             .linear_in_mel = linear_in_mel};
    const auto bands = mel_bands(options);
    ASSERT_EQ(bands.size(), 20u);
    const double first = hertz_to_mel(100, MelScale::Htk), last = hertz_to_mel(7000, MelScale::Htk);
    const auto corner = [&](double i) {
      return mel_to_hertz(first + (last - first) * i / 21, MelScale::Htk);
    };
    for (size_t bin = 0; bin < 257; ++bin) {
      const double hertz = 31.25 * static_cast<double>(bin);
      double sum = 0;
      for (const MelBand& band : bands) sum += weight(band, bin);
      if (hertz >= corner(1) && hertz <= corner(20)) {
        EXPECT_NEAR(sum, 1, 1e-9) << bin;
      }
      if (hertz <= 100 || hertz >= 7000) {
        EXPECT_EQ(sum, 0) << bin;
      }
    }
  }
}

TEST(MelFilters, UnitAreaDividesByHalfTheWidth) {
  MelOptions options{.num_bands = 10, .fft_size = 400, .sampling_rate = 16000, .max_hertz = 8000};
  const auto heights = mel_bands(options);
  options.unit_area = true;
  const auto areas = mel_bands(options);
  const double last = hertz_to_mel(8000, MelScale::Slaney);
  for (size_t i = 0; i < 10; ++i) {
    const double width = mel_to_hertz(last * static_cast<double>(i + 2) / 11, MelScale::Slaney) -
                         mel_to_hertz(last * static_cast<double>(i) / 11, MelScale::Slaney);
    for (size_t k = 0; k < heights[i].weights.size(); ++k) {
      EXPECT_NEAR(areas[i].weights[k], heights[i].weights[k] * 2 / width, 1e-12);
    }
  }
}

TEST(MelFilters, LeavesOutTheFirstBin) {
  MelOptions options{.num_bands = 4,
                     .fft_size = 16,
                     .sampling_rate = 16000,
                     .min_hertz = -100,
                     .max_hertz = 8000,
                     .scale = MelScale::Htk};
  EXPECT_EQ(mel_bands(options)[0].first_bin, 0u);
  options.without_first_bin = true;
  EXPECT_EQ(mel_bands(options)[0].first_bin, 1u);
}

TEST(MelFilters, WindowsEqualTheirFormulas) {
  const auto periodic = window_function(Window::Hann, 4, true);
  EXPECT_NEAR(periodic[0], 0, 1e-15);
  EXPECT_NEAR(periodic[1], 0.5, 1e-15);
  EXPECT_NEAR(periodic[2], 1, 1e-15);
  EXPECT_NEAR(periodic[3], 0.5, 1e-15);
  const auto hamming = window_function(Window::Hamming, 5, false);
  EXPECT_NEAR(hamming[0], 0.08, 1e-15);
  EXPECT_NEAR(hamming[2], 1, 1e-15);
  EXPECT_NEAR(hamming[4], 0.08, 1e-15);
  const auto povey = window_function(Window::Povey, 5, false);
  EXPECT_NEAR(povey[1], std::pow(0.5, 0.85), 1e-15);
  EXPECT_EQ(window_function(Window::Hann, 1, false), std::vector<double>{1});
}

}  // namespace
}  // namespace pippin::sound
