// Recordings without their silence, by a tiny Whisper model.
#include "pippin/app/speech_to_text.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/speech/folder_testing.h"
#include "pippin/speech/recognition/window_length.h"
#include "pippin/speech/voice/silero_testing.h"

namespace pippin::app {
namespace {

using speech::WhisperFolder;

class SpeechWithoutSilence : public testing::Test {
 protected:
  SpeechWithoutSilence() {
    std::filesystem::create_directory(scratch_ / "whisper");
    const WhisperFolder written(scratch_ / "whisper");
    std::filesystem::create_directory(scratch_ / "voice");
    speech::write_loudness_detector(scratch_ / "voice" / "silero-vad.mlpackage");
  }

  SpeechToText open(const char* vad) const {
    ModelChoice choice;
    choice.path = (scratch_ / "whisper").string();
    if (*vad != '\0') choice.vad = (scratch_ / vad).string();
    choice.load.threads = 1;
    return SpeechToText::open(choice);
  }
  static speech::TranscribeOptions without_vad() {
    speech::TranscribeOptions options;
    options.language = "en";
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    options.word_timestamps = true;
    return options;
  }
  static speech::TranscribeOptions options() {
    speech::TranscribeOptions options = without_vad();
    options.vad_filter = true;
    options.vad_speech_pad_ms = 0;
    options.vad_min_speech_duration_ms = 0;
    options.vad_min_silence_duration_ms = 1000;
    return options;
  }

  TempDir scratch_;
};

TEST_F(SpeechWithoutSilence, HasTheTextOfItsVoiceAtTheTimesOfTheRecording) {
  const SpeechToText model = open("voice");
  EXPECT_TRUE(model.finds_voice());
  // Whole windows of the detector, so that voice begins and ends with its samples.
  constexpr size_t kWindow = 4096;
  std::vector<float> voice(10 * kWindow, 0.25F);
  const std::vector<float> tones = WhisperFolder::recording(10);
  for (size_t i = 0; i < voice.size(); ++i) voice[i] += tones[i] * 0.5F;
  std::vector<float> recording(20 * kWindow);
  recording.insert(recording.end(), voice.begin(), voice.end());
  recording.resize(recording.size() + 12 * kWindow);

  const speech::Transcription alone = model.transcribe(voice, without_vad());
  std::vector<speech::Segment> told;
  speech::Events events;
  events.segment = [&](const speech::Segment& segment) { told.push_back(segment); };
  const speech::Transcription made = model.transcribe(recording, options(), events);

  EXPECT_EQ(made.text, alone.text);
  EXPECT_FALSE(made.text.empty());
  EXPECT_DOUBLE_EQ(made.duration, static_cast<double>(recording.size()) / 16000);
  ASSERT_EQ(made.segments.size(), alone.segments.size());
  ASSERT_EQ(told.size(), made.segments.size());
  const double before = 20.0 * kWindow / 16000;
  const double end = before + static_cast<double>(voice.size()) / 16000;
  for (size_t i = 0; i < told.size(); ++i) {
    const speech::Segment& segment = made.segments[i];
    EXPECT_NEAR(segment.start, std::min(alone.segments[i].start + before, end), 0.011);
    EXPECT_NEAR(segment.end, std::min(alone.segments[i].end + before, end), 0.011);
    EXPECT_EQ(segment.words.size(), alone.segments[i].words.size());
    EXPECT_EQ(told[i].start, segment.start);
    EXPECT_EQ(told[i].text, segment.text);
  }

  // A clip without voice, and one with all of it.
  speech::TranscribeOptions clip = options();
  clip.clip_timestamps = {0, 4};
  EXPECT_EQ(model.transcribe(recording, clip).text, "");
  clip.clip_timestamps = {4};
  EXPECT_EQ(model.transcribe(recording, clip).text, alone.text);
  EXPECT_TRUE(model.transcribe(std::vector<float>(30000), options()).segments.empty());
}

TEST_F(SpeechWithoutSilence, WindowsTogetherHaveTheTextsOfEach) {
  const SpeechToText model = open("voice");
  const std::vector<float> samples = WhisperFolder::recording(23);
  speech::TranscribeOptions together = without_vad();
  together.batch_size = 4;
  constexpr size_t kMost = 4 * 16000;  // the model's windows
  const std::vector<double> clips = speech::window_clips(samples, {}, kMost, 16000);
  EXPECT_GE(clips.size(), 12U);
  speech::Transcription expected;
  for (size_t i = 0; i < clips.size(); i += 2) {
    speech::TranscribeOptions alone = without_vad();
    alone.condition_on_previous_text = false;
    alone.clip_timestamps = {clips[i], clips[i + 1]};
    const speech::Transcription one = model.transcribe(samples, alone);
    expected.text += one.text;
    for (const speech::Segment& segment : one.segments) expected.segments.push_back(segment);
  }
  std::vector<std::string> told;
  speech::Events events;
  events.segment = [&](const speech::Segment& segment) { told.push_back(segment.text); };
  const speech::Transcription made = model.transcribe(samples, together, events);
  EXPECT_EQ(made.text, expected.text);
  EXPECT_FALSE(made.text.empty());
  ASSERT_EQ(made.segments.size(), expected.segments.size());
  ASSERT_EQ(told.size(), made.segments.size());
  for (size_t i = 0; i < told.size(); ++i) {
    const speech::Segment &a = made.segments[i], &b = expected.segments[i];
    EXPECT_EQ(a.id, static_cast<int64_t>(i));
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.start, b.start);
    EXPECT_EQ(a.end, b.end);
    EXPECT_EQ(a.seek, b.seek);
    EXPECT_NEAR(a.avg_logprob, b.avg_logprob, 1e-4);
    EXPECT_EQ(a.words.size(), b.words.size());
    EXPECT_EQ(told[i], a.text);
  }
  // The language is that of the first window; silence may be left out.
  together.language.reset();
  together.vad_filter = true;
  const speech::Transcription found = model.transcribe(samples, together);
  EXPECT_FALSE(found.language.empty());
  EXPECT_FALSE(found.text.empty());
  EXPECT_TRUE(model.transcribe({}, together).segments.empty());
  together.beam_size = 2;
  EXPECT_ERROR(together.check(), ErrorCode::InvalidArgument, "needs greedy decoding");
  together = {};
  together.batch_size = 65;
  EXPECT_ERROR(together.check(), ErrorCode::InvalidArgument, "batch_size is 65");
}

TEST_F(SpeechWithoutSilence, NeedsAModelOfVoice) {
  EXPECT_ERROR(open("").transcribe(std::vector<float>(16000), options()),
               ErrorCode::InvalidArgument, "vad_filter: no model of voice");
  EXPECT_ERROR(open("whisper"), ErrorCode::NotFound, "holds no package of a model of voice");
  EXPECT_ERROR(open("nothing"), ErrorCode::NotFound, "nothing");
  speech::TranscribeOptions wrong = options();
  wrong.vad_threshold = 2;
  EXPECT_ERROR(wrong.check(), ErrorCode::InvalidArgument, "vad_threshold is 2");
  wrong = {};
  wrong.vad_speech_pad_ms = 1;
  EXPECT_ERROR(wrong.check(), ErrorCode::InvalidArgument, "need vad_filter");
}

}  // namespace
}  // namespace pippin::app
