#include "pippin/app/live_transcription.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/folder_testing.h"

namespace pippin::app {
namespace {

using speech::WhisperFolder;

constexpr int64_t kTestRate = 16000;

std::vector<float> tones_then_silence(double tones, double silence) {
  std::vector<float> samples(static_cast<size_t>(tones * kTestRate));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(0.4 * std::sin(0.15 * static_cast<double>(i)));
  }
  samples.resize(samples.size() + static_cast<size_t>(silence * kTestRate), 0.001F);
  return samples;
}

TEST(LastPause, IsQuietSoundAtTheEnd) {
  const auto pause = [](double tones, double silence) {
    return last_pause(tones_then_silence(tones, silence), kTestRate);
  };
  EXPECT_EQ(pause(2, 0.6), static_cast<size_t>(2.3 * kTestRate));
  EXPECT_EQ(pause(2, 1), static_cast<size_t>(2.7 * kTestRate));
  EXPECT_EQ(pause(2, 0.5), 0U);
  EXPECT_EQ(pause(2, 0), 0U);
  EXPECT_EQ(pause(0.5, 0.6), 0U);  // too short for a piece
  EXPECT_EQ(pause(0, 3), 0U);      // nothing was louder
  EXPECT_EQ(last_pause(std::vector<float>(48000), kTestRate), 0U);
  EXPECT_EQ(last_pause({}, kTestRate), 0U);
}

class LiveText : public testing::Test {
 protected:
  LiveText() { const WhisperFolder written(folder_.path()); }

  SpeechToText open() const {
    ModelChoice choice;
    choice.path = folder_.path().string();
    choice.load.threads = 1;
    return SpeechToText::open(choice);
  }
  static speech::TranscribeOptions options() {
    speech::TranscribeOptions options;
    options.language = "en";
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    options.condition_on_previous_text = false;
    return options;
  }

 private:
  TempDir folder_;
};

TEST_F(LiveText, TellsEachPieceAtItsEnd) {
  const SpeechToText model = open();
  std::vector<speech::Segment> told;
  speech::Events events;
  events.segment = [&](const speech::Segment& segment) { told.push_back(segment); };
  LiveTranscription live(model, options(), events);
  const std::vector<float> phrase = tones_then_silence(2, 0.6);
  const size_t piece = static_cast<size_t>(2.3 * kTestRate);
  // In blocks of a tenth of a second, as a microphone gives them.
  const auto add = [&](std::span<const float> samples) {
    for (size_t begin = 0; begin < samples.size(); begin += 1600) {
      live.add(samples.subspan(begin, std::min<size_t>(1600, samples.size() - begin)));
    }
  };
  add(phrase);
  const auto first = model.transcribe(std::span(phrase).first(piece), options());
  ASSERT_FALSE(first.segments.empty());
  EXPECT_EQ(told.size(), first.segments.size());
  EXPECT_EQ(told.front().text, first.segments.front().text);
  add(phrase);
  const speech::Transcription made = live.finish();
  EXPECT_EQ(made.segments.size(), told.size());
  EXPECT_TRUE(made.text.starts_with(first.text));
  EXPECT_GT(made.text.size(), first.text.size());
  EXPECT_DOUBLE_EQ(made.duration, 2 * 2.6);
  EXPECT_EQ(made.language, "en");
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(made.segments[i].id, static_cast<int64_t>(i));
    EXPECT_EQ(told[i].start, made.segments[i].start);
    EXPECT_LE(made.segments[i].start, made.segments[i].end);
    if (i < first.segments.size()) continue;
    EXPECT_GE(made.segments[i].start, 2.3);
  }
}

TEST_F(LiveText, CutsSoundWithoutPauses) {
  const SpeechToText model = open();
  std::vector<speech::Segment> told;
  speech::Events events;
  events.segment = [&](const speech::Segment& segment) { told.push_back(segment); };
  LiveTranscription live(model, options(), events);
  live.add(tones_then_silence(30.5, 0));
  EXPECT_TRUE(told.empty());
  live.add(tones_then_silence(1, 0));
  EXPECT_FALSE(told.empty());
  EXPECT_DOUBLE_EQ(live.finish().duration, 31.5);
  speech::TranscribeOptions clips = options();
  clips.clip_timestamps = {1};
  EXPECT_ERROR(LiveTranscription(model, clips, {}), ErrorCode::InvalidArgument, "whole recording");
}

}  // namespace
}  // namespace pippin::app
