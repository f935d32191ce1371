#include "pippin/speech/recognition/recognize_recording.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::speech {
namespace {

constexpr int64_t kRate = 1000;

// Hears a letter in each run of samples that are not silent: its level in steps of 0.1.
class ScriptedRecognizer final : public Recognizer {
 public:
  explicit ScriptedRecognizer(size_t most, bool finds_times = true)
      : most_(most), finds_times_(finds_times) {}

  int64_t sampling_rate() const override { return kRate; }
  size_t most_samples() const override { return most_; }
  bool finds_times() const override { return finds_times_; }
  runtime::EncodedSpeech encode(std::span<const float> samples) override {
    return {1, {samples.begin(), samples.end()}, false};
  }
  std::vector<RecognizedToken> recognize(std::span<const float> samples) override {
    EXPECT_LE(samples.size(), most_);
    windows.push_back(samples.size());
    std::vector<RecognizedToken> tokens;
    const auto seconds = [](size_t i) { return static_cast<double>(i) / kRate; };
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] == 0) continue;
      const bool begins = tokens.empty() || samples[i - 1] != samples[i];
      if (begins) {
        tokens.push_back({static_cast<int32_t>(std::lround(samples[i] * 10)), seconds(i), 0, 1});
      }
      tokens.back().end = seconds(i + 1);
    }
    if (finds_times_) return tokens;
    for (RecognizedToken& token : tokens) {
      token.start = 0;
      token.end = seconds(samples.size());
    }
    return tokens;
  }

  std::vector<size_t> windows;

 private:
  size_t most_;
  bool finds_times_;
};

std::string letter(int32_t id) {
  return id == 0 ? "" : fmt::format(" {}", static_cast<char>('a' + id - 1));
}

// Letters of 0.3 s with pauses after them.
std::vector<float> spoken(std::string_view letters, size_t pause = 200) {
  std::vector<float> samples;
  for (const char one : letters) {
    samples.insert(samples.end(), 300, static_cast<float>(one - 'a' + 1) / 10);
    samples.insert(samples.end(), pause, 0.0F);
  }
  return samples;
}

TEST(RecognizeRecording, LosesAndDoublesNothingAtCuts) {
  constexpr std::string_view kLetters = "abcdefghijabcdefghijabcdefghijklmnopqrstuvwxyz";
  std::string expected;
  for (const char one : kLetters) expected += fmt::format(" {}", one);
  for (const size_t most : {2000, 2700, 3333, 9000, 50000}) {
    ScriptedRecognizer recognizer(most);
    std::vector<double> progress;
    std::string told;
    const std::vector<float> samples = spoken(kLetters);
    const Transcription result =
        recognize_recording(recognizer, letter, samples, {},
                            {.detected = nullptr,
                             .segment = [&](const Segment& segment) { told += segment.text; },
                             .progress = [&](double done, double) { progress.push_back(done); }});
    EXPECT_EQ(result.text, expected) << most;
    EXPECT_EQ(told, expected);
    EXPECT_EQ(result.language, "");
    EXPECT_DOUBLE_EQ(result.duration, static_cast<double>(samples.size()) / kRate);
    size_t sum = 0;
    for (const size_t window : recognizer.windows) sum += window;
    EXPECT_EQ(sum, samples.size());
    EXPECT_GE(recognizer.windows.size(), samples.size() / most);
    ASSERT_EQ(progress.size(), recognizer.windows.size() + 1);
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
    EXPECT_DOUBLE_EQ(progress.back(), result.duration);
    for (size_t i = 0; i < result.segments.size(); ++i) {
      EXPECT_EQ(result.segments[i].id, static_cast<int64_t>(i));
      EXPECT_NEAR(std::fmod(result.segments[i].start, 0.5), 0, 1e-9);  // where a letter begins
    }
  }
}

// Without pauses, the text is that of one long window.
TEST(RecognizeRecording, WindowsOverlapWhereNoPauseIs) {
  std::string letters;
  for (size_t i = 0; i < 100; ++i) letters += static_cast<char>('a' + i * i % 7 + i % 2 * 8);
  const std::vector<float> samples = spoken(letters, 0);
  ScriptedRecognizer whole(samples.size());
  TranscribeOptions options;
  options.word_timestamps = true;
  const Transcription expected = recognize_recording(whole, letter, samples, options);
  for (const size_t most : {4100, 7777, 15000}) {
    ScriptedRecognizer recognizer(most);
    std::string told;
    const Transcription result =
        recognize_recording(recognizer, letter, samples, options,
                            {.detected = nullptr,
                             .segment = [&](const Segment& segment) { told += segment.text; },
                             .progress = nullptr});
    EXPECT_EQ(result.text, expected.text) << most;
    EXPECT_EQ(told, expected.text);
    EXPECT_EQ(recognizer.windows.front(), most);
    double last = 0;
    for (const Segment& segment : result.segments) {
      for (const Word& word : segment.words) {
        EXPECT_NEAR(word.start, last, 0.011) << word.text;
        last = word.end;
      }
    }
    EXPECT_NEAR(last, result.duration, 0.011);
  }
  ScriptedRecognizer without_times(4000, false);
  recognize_recording(without_times, letter, samples, {});
  size_t sum = 0;
  for (const size_t window : without_times.windows) sum += window;
  EXPECT_EQ(sum, samples.size());
}

TEST(RecognizeRecording, WindowsHaveAtMostThirtySeconds) {
  ScriptedRecognizer recognizer(1000000);
  recognize_recording(recognizer, letter, spoken(std::string(140, 'a')), {});
  ASSERT_EQ(recognizer.windows.size(), 3U);
  for (const size_t window : recognizer.windows) EXPECT_LE(window, 30U * kRate);
}

TEST(RecognizeRecording, SegmentsAndWords) {
  ScriptedRecognizer recognizer(100000);
  std::vector<float> samples = spoken("ab", 100);
  samples.insert(samples.end(), 700, 0.0F);
  const std::vector<float> more = spoken("c");
  samples.insert(samples.end(), more.begin(), more.end());
  TranscribeOptions options;
  options.word_timestamps = true;
  Transcription result = recognize_recording(recognizer, letter, samples, options);
  ASSERT_EQ(result.segments.size(), 2U);
  EXPECT_EQ(result.segments[0].text, " a b");
  ASSERT_EQ(result.segments[0].words.size(), 2U);
  EXPECT_DOUBLE_EQ(result.segments[0].words[1].start, 0.4);
  EXPECT_DOUBLE_EQ(result.segments[1].start, 1.5);
  options.without_timestamps = true;
  result = recognize_recording(recognizer, letter, samples, options);
  ASSERT_EQ(result.segments.size(), 1U);
  EXPECT_EQ(result.segments[0].text, " a b c");
}

TEST(RecognizeRecording, WithoutTimesOfTokens) {
  ScriptedRecognizer recognizer(2000, false);
  const Transcription result = recognize_recording(recognizer, letter, spoken("abcdef"), {});
  ASSERT_EQ(result.segments.size(), recognizer.windows.size());
  EXPECT_EQ(result.text, " a b c d e f");
  EXPECT_EQ(result.segments[0].start, 0);
  EXPECT_EQ(result.segments[0].end, result.segments[1].start);
  EXPECT_EQ(result.segments.back().end, 3);
  TranscribeOptions options;
  options.word_timestamps = true;
  EXPECT_ERROR(recognize_recording(recognizer, letter, spoken("a"), options),
               ErrorCode::Unsupported, "no times of words");
}

TEST(RecognizeRecording, OfNothing) {
  ScriptedRecognizer recognizer(2000);
  EXPECT_TRUE(recognize_recording(recognizer, letter, {}, {}).segments.empty());
  const std::vector<float> silence(9000);
  EXPECT_TRUE(recognize_recording(recognizer, letter, silence, {}).segments.empty());
}

TEST(RecognizeRecording, RefusesOptionsOfWhisper) {
  const std::pair<std::string_view, void (*)(TranscribeOptions&)> cases[] = {
      {"language", [](TranscribeOptions& o) { o.language = "de"; }},
      {"task", [](TranscribeOptions& o) { o.task = Task::Translate; }},
      {"initial_prompt", [](TranscribeOptions& o) { o.initial_prompt = "a"; }},
      {"temperature", [](TranscribeOptions& o) { o.temperatures = {0.5}; }},
      {"temperature",
       [](TranscribeOptions& o) {
         o.temperatures = {0, 0.5, 1};
       }},
      {"beam_size", [](TranscribeOptions& o) { o.beam_size = 3; }},
      {"suppress_tokens", [](TranscribeOptions& o) { o.suppress_tokens = {1}; }},
      {"no_speech_threshold", [](TranscribeOptions& o) { o.no_speech_threshold.reset(); }},
      {"clip_timestamps", [](TranscribeOptions& o) { o.clip_timestamps = {1}; }},
      {"seed", [](TranscribeOptions& o) { o.seed = 1; }}};
  ScriptedRecognizer recognizer(2000);
  for (const auto& [name, change] : cases) {
    TranscribeOptions options;
    change(options);
    EXPECT_EQ(option_of_whisper(options), name);
    EXPECT_ERROR(recognize_recording(recognizer, letter, spoken("a"), options),
                 ErrorCode::InvalidArgument, std::string(name));
  }
  TranscribeOptions options;
  options.temperatures = {0};
  EXPECT_EQ(option_of_whisper(options), std::nullopt);
  options.temperatures = {0, 0.2, 0.4, 0.2 * 3, 0.8, 1};
  EXPECT_EQ(option_of_whisper(options), std::nullopt);
}

}  // namespace
}  // namespace pippin::speech
