#include "pippin/speech/hallucinations.h"

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

// A segment of one word for each number, which is its probability.
Segment segment_of(double start, double end, std::vector<double> probabilities) {
  Segment segment;
  segment.start = start;
  segment.end = end;
  const double length = (end - start) / static_cast<double>(probabilities.size());
  for (const double probability : probabilities) {
    segment.words.push_back({" word", start, start + length, probability});
    start += length;
  }
  return segment;
}

class HallucinationsTest : public testing::Test {
 protected:
  HallucinationsTest() {
    options_.word_timestamps = true;
    options_.hallucination_silence_threshold = 2;
  }
  std::optional<double> remove() { return remove_hallucinations(segments_, window_, options_); }

  TranscribeOptions options_;
  WindowTimes window_{100, 130, 130, 100, 500};
  std::vector<Segment> segments_;
};

TEST_F(HallucinationsTest, ProbableWordsStay) {
  segments_ = {segment_of(110, 112, {0.9, 0.9}), segment_of(120, 122, {0.9, 0.1, 0.8})};
  EXPECT_EQ(remove(), std::nullopt);
  EXPECT_EQ(segments_.size(), 2U);
}

TEST_F(HallucinationsTest, SilenceBeforeAnInventedFirstSegmentIsSkipped) {
  segments_ = {segment_of(110, 112, {0.1, 0.1}), segment_of(112, 114, {0.9})};
  EXPECT_EQ(remove(), 110);
  EXPECT_TRUE(segments_.empty());
}

TEST_F(HallucinationsTest, InventedSegmentsBetweenPausesAreLeftOut) {
  segments_ = {segment_of(100, 104, {0.9, 0.9, 0.9}), segment_of(110, 112, {0.1, 0.1}),
               segment_of(118, 120, {0.9, 0.9})};
  EXPECT_EQ(remove(), 110);
  ASSERT_EQ(segments_.size(), 1U);
  EXPECT_EQ(segments_[0].end, 104);
}

TEST_F(HallucinationsTest, WithoutPausesTheyStay) {
  segments_ = {segment_of(100, 109, {0.9, 0.9, 0.9, 0.9, 0.9}), segment_of(110, 112, {0.1, 0.1}),
               segment_of(113, 115, {0.9, 0.9})};
  EXPECT_EQ(remove(), std::nullopt);
  options_.hallucination_silence_threshold = 0.5;
  EXPECT_EQ(remove(), 110);
}

TEST_F(HallucinationsTest, ShortAndLongWordsLookInvented) {
  // 0.05 s are too short by 0.083 s: 1.245 for each word.
  segments_ = {segment_of(100, 104, {0.9, 0.9, 0.9}), segment_of(110, 110.1, {0.9, 0.9})};
  EXPECT_EQ(remove(), 110);
  segments_ = {segment_of(100, 104, {0.9, 0.9, 0.9}), segment_of(110, 115, {0.9})};
  EXPECT_EQ(remove(), 110);
}

TEST_F(HallucinationsTest, NothingFollowsAtTheEndOfTheRecording) {
  window_.recording_end = 113;
  window_.speech_end = 113;
  segments_ = {segment_of(100, 104, {0.9, 0.9, 0.9}), segment_of(110, 112, {0.1, 0.1})};
  EXPECT_EQ(remove(), std::nullopt);  // speech may follow the window's sound
  options_.hallucination_silence_threshold = 0.9;
  EXPECT_EQ(remove(), 110);
  window_.recording_end = 112.5;
  segments_.push_back(segment_of(110, 112, {0.1, 0.1}));
  EXPECT_EQ(remove(), 112.5);
  EXPECT_EQ(segments_.size(), 1U);
}

}  // namespace
}  // namespace pippin::speech
