#include "pippin/speech/recognition/window_length.h"

#include <vector>

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

constexpr int64_t kSamplesPerSecond = 1000;

std::vector<float> loud(size_t count) {
  return std::vector<float>(count, 0.5F);
}

void silence(std::vector<float>& samples, size_t begin, size_t count) {
  std::fill_n(samples.begin() + static_cast<ptrdiff_t>(begin), count, 0.0F);
}

TEST(WindowLength, IsTheRestIfItFits) {
  EXPECT_EQ(window_length(loud(9000), 9000, kSamplesPerSecond), 9000U);
  EXPECT_EQ(window_length({}, 9000, kSamplesPerSecond), 0U);
}

TEST(WindowLength, EndsInThePause) {
  std::vector<float> samples = loud(20000);
  silence(samples, 7000, 100);
  EXPECT_EQ(window_length(samples, 9000, kSamplesPerSecond), 7050U);
  silence(samples, 8000, 100);  // the last one of equals
  EXPECT_EQ(window_length(samples, 9000, kSamplesPerSecond), 8050U);
  silence(samples, 5000, 500);  // before the last third
  EXPECT_EQ(window_length(samples, 9000, kSamplesPerSecond), 8050U);
  samples = loud(20000);
  silence(samples, 6500, 60);  // too short to be silent, but the quietest
  EXPECT_NEAR(static_cast<double>(window_length(samples, 9000, kSamplesPerSecond)), 6530, 40);
}

TEST(WindowLength, TellsPausesFromQuietWords) {
  std::vector<float> samples = loud(20000);
  EXPECT_FALSE(window_end(samples, 9000, kSamplesPerSecond).is_quiet);
  std::fill_n(samples.begin() + 7000, 100, 0.1F);  // -14 dB
  EXPECT_FALSE(window_end(samples, 9000, kSamplesPerSecond).is_quiet);
  std::fill_n(samples.begin() + 7000, 100, 0.04F);  // -22 dB
  EXPECT_TRUE(window_end(samples, 9000, kSamplesPerSecond).is_quiet);
  EXPECT_EQ(window_end(samples, 9000, kSamplesPerSecond).length, 7050U);
  EXPECT_TRUE(window_end(std::vector<float>(20000), 9000, kSamplesPerSecond).is_quiet);
  EXPECT_TRUE(window_end(loud(9000), 9000, kSamplesPerSecond).is_quiet);  // the whole
}

TEST(WindowLength, LeavesASecond) {
  std::vector<float> samples = loud(9001);
  silence(samples, 8500, 501);
  EXPECT_LE(window_length(samples, 9000, kSamplesPerSecond), 8001U);
  EXPECT_GE(window_length(samples, 9000, kSamplesPerSecond), 6000U);
}

TEST(WindowLength, OfWindowsWithoutRoomToSearch) {
  EXPECT_EQ(window_length(loud(100), 90, kSamplesPerSecond), 78U);  // a quarter remains
  EXPECT_EQ(window_length(loud(1000), 90, kSamplesPerSecond), 90U);
  EXPECT_EQ(window_length(loud(1000), 1, kSamplesPerSecond), 1U);
}

TEST(WindowClips, CoverTheRecordingOrTheClips) {
  std::vector<float> samples = loud(20000);
  silence(samples, 7000, 100);
  using Clips = std::vector<double>;
  EXPECT_EQ(window_clips(samples, {}, 9000, kSamplesPerSecond), (Clips{0, 7.05, 7.05, 16, 16, 20}));
  EXPECT_EQ(window_clips(samples, Clips{1, 3, 15}, 9000, kSamplesPerSecond), (Clips{1, 3, 15, 20}));
  EXPECT_EQ(window_clips(samples, Clips{19, 90}, 9000, kSamplesPerSecond), (Clips{19, 20}));
  EXPECT_TRUE(window_clips({}, {}, 9000, kSamplesPerSecond).empty());
}

}  // namespace
}  // namespace pippin::speech
