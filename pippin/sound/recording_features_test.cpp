#include "pippin/sound/recording_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/sound/feature_extractor.h"

namespace pippin::sound {
namespace {

constexpr size_t kBands = 80, kFrames = 200;

FeatureExtractor two_seconds() {
  return FeatureExtractor::parse(Json::parse(
      R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 2})", "config"));
}

// Noise that becomes louder, so that the loudest frame is the last.
std::vector<float> swelling_noise(size_t size) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = normal(random) * static_cast<float>(i) / static_cast<float>(size);
  }
  return values;
}

TEST(RecordingFeatures, AreThoseOfARecordingOfFullLength) {
  const auto extractor = two_seconds();
  const auto samples = swelling_noise(32000);
  const Features whole = extractor(samples);
  const auto frames = extractor.frames_of(samples);
  ASSERT_EQ(frames.num_frames(), kFrames);
  const Features window = frames.window(0, kFrames);
  EXPECT_EQ(window.shape, whole.shape);
  EXPECT_EQ(window.name, whole.name);
  EXPECT_EQ(window.values, whole.values);
}

TEST(RecordingFeatures, WindowsAreSlices) {
  const auto extractor = two_seconds();
  const auto samples = swelling_noise(100123);  // 625 frames
  const auto frames = extractor.frames_of(samples);
  ASSERT_EQ(frames.num_frames(), 625u);
  const Features all = frames.window(0, 625);
  for (size_t first : {0, 1, 301, 500, 624}) {
    const Features window = frames.window(first, kFrames);
    ASSERT_EQ(window.shape, (std::vector<int64_t>{1, kBands, kFrames}));
    for (size_t band = 0; band < kBands; ++band) {
      for (size_t i = 0; i < kFrames; ++i) {
        const float expected = first + i < 625 ? all.values[band * 625 + first + i] : 0;
        ASSERT_EQ(window.values[band * kFrames + i], expected) << first << " " << band << " " << i;
      }
    }
  }
  EXPECT_ERROR(frames.window(625, 1), ErrorCode::InvalidArgument,
               "frame 625 is after the last of 625");
}

// 8 decades below the loudest value of the whole recording, not of the window.
TEST(RecordingFeatures, AreRelativeToTheWholeRecording) {
  const auto extractor = two_seconds();
  std::vector<float> samples(64000);
  const auto loud = swelling_noise(16000);
  std::copy(loud.begin(), loud.end(), samples.begin() + 48000);
  const auto frames = extractor.frames_of(samples);
  const Features all = frames.window(0, 400);
  const float peak = *std::max_element(all.values.begin(), all.values.end());
  const Features silent = frames.window(0, kFrames);
  for (float value : silent.values) EXPECT_NEAR(value, peak - 2, 1e-5);
}

TEST(RecordingFeatures, RejectWhatTheyCannotHave) {
  const auto extractor = two_seconds();
  EXPECT_ERROR(extractor.frames_of(std::vector<float>(200)), ErrorCode::InvalidArgument,
               "200 samples, the features need at least 201");
  std::vector<float> samples(1000);
  samples[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(extractor.frames_of(samples), ErrorCode::InvalidArgument, "sample 7 of 1000 is nan");
  const auto other = FeatureExtractor::parse(
      Json::parse(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})", "config"));
  EXPECT_ERROR(other.frames_of(std::vector<float>(1000)), ErrorCode::Unsupported,
               "Wav2Vec2FeatureExtractor has no features of parts");
}

}  // namespace
}  // namespace pippin::sound
