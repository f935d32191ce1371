#include "pippin/speech/voice/voiced_sound.h"

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

// Seconds 1 to 3 and 10 to 11 of 12, at 100 Hz.
VoicedSound sound() {
  std::vector<float> recording(1200);
  for (size_t i = 0; i < recording.size(); ++i) recording[i] = static_cast<float>(i);
  return {recording, {{100, 300}, {1000, 1100}}, 100};
}

TEST(VoicedSound, JoinsTheRanges) {
  const VoicedSound joined = sound();
  ASSERT_EQ(joined.samples().size(), 300U);
  EXPECT_EQ(joined.samples()[0], 100);
  EXPECT_EQ(joined.samples()[199], 299);
  EXPECT_EQ(joined.samples()[200], 1000);
}

TEST(VoicedSound, MapsTimesBack) {
  const VoicedSound joined = sound();
  EXPECT_DOUBLE_EQ(joined.original(0, false), 1);
  EXPECT_DOUBLE_EQ(joined.original(1.5, false), 2.5);
  EXPECT_DOUBLE_EQ(joined.original(2, true), 3);
  EXPECT_DOUBLE_EQ(joined.original(2, false), 10);
  EXPECT_DOUBLE_EQ(joined.original(2.25, true), 10.25);
  EXPECT_DOUBLE_EQ(joined.original(30, true), 11);
}

TEST(VoicedSound, RestoresSegmentsAndWords) {
  Segment segment;
  segment.seek = 150;
  segment.start = 1.5;
  segment.end = 2.5;
  const VoicedSound joined = sound();
  Segment plain = segment;
  joined.restore(plain);
  EXPECT_EQ(plain.seek, 250);
  EXPECT_DOUBLE_EQ(plain.start, 2.5);
  EXPECT_DOUBLE_EQ(plain.end, 10.5);
  // A word across two ranges stays in that of its middle.
  segment.words = {{" a", 1.5, 2.2, 1}, {" b", 2.2, 2.5, 1}};
  joined.restore(segment);
  EXPECT_DOUBLE_EQ(segment.words[0].start, 2.5);
  EXPECT_DOUBLE_EQ(segment.words[0].end, 3);
  EXPECT_DOUBLE_EQ(segment.words[1].start, 10.2);
  EXPECT_DOUBLE_EQ(segment.start, 2.5);
  EXPECT_DOUBLE_EQ(segment.end, 10.5);
}

TEST(VoicedSound, RangesInClips) {
  const std::vector<SampleRange> ranges = {{100, 300}, {1000, 1100}};
  EXPECT_EQ(ranges_in_clips(ranges, {}, 100), ranges);
  const std::vector<double> clips = {0, 2, 2.5};
  EXPECT_EQ(ranges_in_clips(ranges, clips, 100),
            (std::vector<SampleRange>{{100, 200}, {250, 300}, {1000, 1100}}));
}

}  // namespace
}  // namespace pippin::speech
