#include "pippin/speech/voice/voice_ranges.h"

#include <string_view>

#include <gtest/gtest.h>

namespace pippin::speech {
namespace {

// Windows of 100 samples at 1000 Hz: '#' is voice, '.' silence, '-' in between.
std::vector<SampleRange> ranges(std::string_view windows, const TranscribeOptions& options,
                                size_t cut = 0) {
  std::vector<float> probabilities;
  for (const char c : windows) probabilities.push_back(c == '#' ? 0.9F : c == '-' ? 0.4F : 0.1F);
  return voice_ranges({probabilities, 100, windows.size() * 100 - cut, 1000}, options);
}

TranscribeOptions plain() {
  TranscribeOptions options;
  options.vad_filter = true;
  options.vad_min_speech_duration_ms = 0;
  options.vad_min_silence_duration_ms = 200;
  options.vad_speech_pad_ms = 0;
  return options;
}

using Ranges = std::vector<SampleRange>;

TEST(VoiceRanges, BeginAndEndWithVoice) {
  EXPECT_EQ(ranges("..###....##..", plain()), (Ranges{{200, 500}, {900, 1100}}));
  EXPECT_EQ(ranges("", plain()), Ranges{});
  EXPECT_EQ(ranges("....", plain()), Ranges{});
  // The end of the recording is an end, and may lie inside of a window.
  EXPECT_EQ(ranges(".##", plain(), 30), (Ranges{{100, 270}}));
  EXPECT_EQ(ranges(".##.", plain()), (Ranges{{100, 300}}));
}

TEST(VoiceRanges, ShortPausesAndUncertainWindowsDoNotDivide) {
  EXPECT_EQ(ranges("##.##..##", plain()), (Ranges{{0, 500}, {700, 900}}));
  EXPECT_EQ(ranges("--##--------##..", plain()), (Ranges{{200, 1400}}));
  TranscribeOptions options = plain();
  options.vad_threshold = 0.3;  // uncertain windows have voice
  EXPECT_EQ(ranges("--##..", options), (Ranges{{0, 400}}));
}

TEST(VoiceRanges, ShortVoiceIsLeftOut) {
  TranscribeOptions options = plain();
  options.vad_min_speech_duration_ms = 250;
  EXPECT_EQ(ranges("##..###..#", options), (Ranges{{400, 700}}));
}

TEST(VoiceRanges, LongVoiceIsDividedAtItsLastPause) {
  TranscribeOptions options = plain();
  options.vad_max_speech_duration_s = 0.6;
  EXPECT_EQ(ranges("####.#####..", options), (Ranges{{0, 400}, {500, 1000}}));
  EXPECT_EQ(ranges("########..", options), (Ranges{{0, 600}, {600, 800}}));
}

TEST(VoiceRanges, GrowWithoutMeeting) {
  TranscribeOptions options = plain();
  options.vad_speech_pad_ms = 120;
  EXPECT_EQ(ranges(".##..##.", options), (Ranges{{0, 400}, {400, 800}}));
  options.vad_speech_pad_ms = 50;
  EXPECT_EQ(ranges(".##..##.", options), (Ranges{{50, 350}, {450, 750}}));
}

}  // namespace
}  // namespace pippin::speech
