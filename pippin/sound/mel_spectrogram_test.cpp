#include "pippin/sound/mel_spectrogram.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::sound {
namespace {

std::vector<float> noise(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<std::vector<double>> frames_of(const MelSpectrogram& spectrogram,
                                           const PaddedSamples& input) {
  std::vector<std::vector<double>> frames;
  spectrogram.compute(input, 0, spectrogram.num_frames(input.length),
                      [&](size_t frame, std::span<const double> sums) {
                        EXPECT_EQ(frame, frames.size());
                        frames.emplace_back(sums.begin(), sums.end());
                      });
  return frames;
}

// The definition, sample by sample.
std::vector<double> expected_frame(const FrameOptions& options, const std::vector<MelBand>& bands,
                                   const std::vector<float>& signal, int64_t frame) {
  const auto size = static_cast<int64_t>(signal.size());
  const auto fft = static_cast<int64_t>(options.fft_size);
  const auto window = static_cast<int64_t>(options.window.size());
  const int64_t start = frame * static_cast<int64_t>(options.hop) +
                        (options.edge == Edge::None ? 0 : (fft - window) / 2 - fft / 2);
  std::vector<double> x(options.window.size());
  double mean = 0;
  for (int64_t i = 0; i < window; ++i) {
    int64_t at = start + i;
    if (options.edge == Edge::Reflect && at < 0) at = -at;
    if (options.edge == Edge::Reflect && at >= size) at = 2 * size - 2 - at;
    x[i] = at < 0 || at >= size ? 0 : signal[at] * options.scale;
    mean += x[i] / static_cast<double>(window);
  }
  if (options.remove_mean) {
    for (double& value : x) value -= mean;
  }
  std::vector<double> filtered(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    filtered[i] = (x[i] - options.preemphasis * x[i == 0 ? 0 : i - 1]) * options.window[i];
  }
  std::vector<double> sums(bands.size());
  for (size_t b = 0; b < bands.size(); ++b) {
    for (size_t j = 0; j < bands[b].weights.size(); ++j) {
      const double turn = -2 * std::numbers::pi * static_cast<double>(bands[b].first_bin + j) /
                          static_cast<double>(options.fft_size);
      std::complex<double> sum = 0;
      for (size_t i = 0; i < filtered.size(); ++i) {
        sum += filtered[i] * std::polar(1.0, turn * static_cast<double>(i));
      }
      sums[b] += bands[b].weights[j] * (options.magnitudes ? std::abs(sum) : std::norm(sum));
    }
  }
  return sums;
}

std::vector<MelBand> test_bands(size_t fft_size) {
  return mel_bands({.num_bands = 7,
                    .fft_size = fft_size,
                    .sampling_rate = 16000,
                    .max_hertz = 8000,
                    .scale = MelScale::Htk});
}

void expect_definition(const FrameOptions& options, const std::vector<float>& signal,
                       const PaddedSamples& input) {
  const auto bands = test_bands(options.fft_size);
  const auto frames = frames_of(MelSpectrogram(options, bands), input);
  ASSERT_GT(frames.size(), 2u);
  for (size_t frame = 0; frame < frames.size(); ++frame) {
    const auto expected = expected_frame(options, bands, signal, static_cast<int64_t>(frame));
    for (size_t band = 0; band < bands.size(); ++band) {
      EXPECT_NEAR(frames[frame][band], expected[band], 1e-9 * (1 + expected[band]))
          << frame << ", " << band;
    }
  }
}

std::vector<FrameOptions> option_cases() {
  std::vector<FrameOptions> cases;
  for (Edge edge : {Edge::None, Edge::Zeros, Edge::Reflect}) {
    FrameOptions options{.hop = 10,
                         .fft_size = 32,
                         .window = window_function(Window::Hamming, 25, false),
                         .edge = edge};
    cases.push_back(options);
    options.window = window_function(Window::Hann, 32, true);
    options.scale = 3;
    options.remove_mean = true;
    options.preemphasis = 0.9;
    cases.push_back(options);
    options.fft_size = 45;
    options.magnitudes = true;
    cases.push_back(options);
  }
  return cases;
}

TEST(MelSpectrogram, EqualsTheDefinition) {
  for (const FrameOptions& options : option_cases()) {
    for (size_t size : {70, 75, 111}) {
      const auto signal = noise(size, 1);
      expect_definition(options, signal, {signal, size});
    }
  }
}

// Frames of padding are not computed, and samples after the length do not count.
TEST(MelSpectrogram, PaddingEqualsZeros) {
  for (const FrameOptions& options : option_cases()) {
    for (size_t stored : {0, 1, 40, 76, 119}) {
      auto signal = noise(stored, 2);
      const std::vector<float> samples = signal;
      signal.resize(120);
      expect_definition(options, signal, {samples, 120});
    }
    auto signal = noise(200, 3);
    const std::vector<float> samples = signal;
    signal.resize(120);
    expect_definition(options, signal, {samples, 120});
  }
}

TEST(MelSpectrogram, ComputesAnyRange) {
  const FrameOptions options{.hop = 16,
                             .fft_size = 40,
                             .window = window_function(Window::Hann, 40, true),
                             .edge = Edge::Reflect};
  const MelSpectrogram spectrogram(options, test_bands(40));
  const auto signal = noise(300, 4);
  const auto all = frames_of(spectrogram, {signal, 300});
  for (size_t first = 0; first < all.size(); ++first) {
    for (size_t last = first; last <= all.size(); ++last) {
      size_t next = first;
      spectrogram.compute({signal, 300}, first, last,
                          [&](size_t frame, std::span<const double> sums) {
                            ASSERT_EQ(frame, next++);
                            EXPECT_EQ(std::vector<double>(sums.begin(), sums.end()), all[frame]);
                          });
      EXPECT_EQ(next, last);
    }
  }
}

TEST(MelSpectrogram, RequiresOneFrame) {
  FrameOptions options{.hop = 10, .fft_size = 32, .window = std::vector<double>(25, 1.0)};
  const auto check = [&](Edge edge, size_t length) {
    options.edge = edge;
    MelSpectrogram(options, test_bands(32)).check_length(length);
  };
  check(Edge::None, 25);
  EXPECT_ERROR(check(Edge::None, 24), ErrorCode::InvalidArgument,
               "24 samples, the features need at least 25");
  check(Edge::Reflect, 17);
  EXPECT_ERROR(check(Edge::Reflect, 16), ErrorCode::InvalidArgument, "at least 17");
  check(Edge::Zeros, 1);
  EXPECT_ERROR(check(Edge::Zeros, 0), ErrorCode::InvalidArgument, "at least 1");
}

}  // namespace
}  // namespace pippin::sound
