#include "pippin/speech/voice/silero.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/voice/silero_testing.h"

namespace pippin::speech {
namespace {

class Silero : public testing::Test {
 protected:
  SileroVoice open(const char* name) {
    return {scratch_ / name, name, pool_, engine::ComputeOptions{}};
  }
  std::filesystem::path path(const char* name) const { return scratch_ / name; }

 private:
  TempDir scratch_;
  ThreadPool pool_{1};
};

TEST_F(Silero, GivesTheProbabilityOfEachWindow) {
  write_loudness_detector(path("vad.mlpackage"));
  SileroVoice voice = open("vad.mlpackage");
  EXPECT_EQ(voice.window_samples(), 4096U);
  EXPECT_EQ(voice.sampling_rate(), 16000);
  // Silence, sound, and the start of a window that silence fills.
  std::vector<float> samples(4096, 0.0F);
  samples.resize(size_t{2} * 4096, 0.5F);
  samples.resize(samples.size() + 10, 0.5F);
  const auto found = voice.probabilities(samples);
  ASSERT_EQ(found.size(), 3U);
  const auto expected = [](double loud) {
    return 1 / (1 + std::exp(-1000 * (loud * 0.25 / 4160 - 0.01)));
  };
  EXPECT_NEAR(found[0], expected(0), 1e-4);
  EXPECT_NEAR(found[1], expected(4096), 1e-4);
  EXPECT_NEAR(found[2], expected(64 + 10), 1e-4);  // the last 64 samples of the window before
  // Each recording begins without a state.
  EXPECT_EQ(voice.probabilities(samples), found);
  EXPECT_TRUE(voice.probabilities({}).empty());
}

TEST_F(Silero, RefusesOtherPackagesAndSamples) {
  write_loudness_detector(path("vad.mlpackage"), 512);
  SileroVoice voice = open("vad.mlpackage");
  EXPECT_EQ(voice.window_samples(), 512U);
  const std::vector<float> wrong = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(voice.probabilities(wrong), Error);
  write_loudness_detector(path("short.mlpackage"), 0);
  try {
    open("short.mlpackage");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(fault_of(error, ErrorCode::InvalidFile, "'audio_input' has 64 samples"), "");
  }
}

}  // namespace
}  // namespace pippin::speech
