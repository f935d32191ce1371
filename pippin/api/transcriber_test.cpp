// A tiny Whisper model by the public interface. tests/speech compares the program with others.
#include "pippin/api/transcriber.h"

#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/sound/wav_testing.h"
#include "pippin/speech/folder_testing.h"

namespace pippin {
namespace {

using speech::WhisperFolder;

class Transcribers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    const WhisperFolder written(folder_->path());
    TranscriberOptions options;
    options.threads = 1;
    model_ = new Transcriber(Transcriber::open(folder_->path().string(), options));
  }
  static void TearDownTestSuite() {
    delete model_;
    delete folder_;
  }

  static const Transcriber& model() { return *model_; }
  static const TempDir& folder() { return *folder_; }
  // Without samples and judgements.
  static speech::TranscribeOptions greedy() {
    speech::TranscribeOptions options;
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    return options;
  }
  static std::string json(const speech::Transcription& made) { return speech::write_json(made); }

 private:
  static inline TempDir* folder_ = nullptr;
  static inline Transcriber* model_ = nullptr;
};

TEST_F(Transcribers, TellSegmentsAsTheyAreRecognized) {
  const auto samples = WhisperFolder::recording(9);
  std::vector<std::string> told;
  std::vector<std::pair<double, double>> done;
  std::string language;
  TranscriptionEvents events;
  events.segment = [&](const speech::Segment& segment) { told.push_back(segment.text); };
  events.progress = [&](double seconds, double all) { done.emplace_back(seconds, all); };
  events.detected = [&](const std::string& code, double probability) {
    language = code;
    EXPECT_GT(probability, 0.3);
  };
  const auto made = model().transcribe(samples, model().sampling_rate(), greedy(), events);
  EXPECT_EQ(made.duration, 9);
  EXPECT_EQ(made.language, language);
  ASSERT_GT(made.segments.size(), 1U);
  ASSERT_EQ(told.size(), made.segments.size());
  for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], made.segments[i].text);
  EXPECT_EQ(done.front(), std::pair(0.0, 9.0));
  EXPECT_EQ(done.back(), std::pair(9.0, 9.0));
  // Another language is a choice, not a guess.
  auto options = greedy();
  options.language = language == "de" ? "en" : "de";
  EXPECT_EQ(model().transcribe(samples, model().sampling_rate(), options).language,
            options.language);
}

TEST_F(Transcribers, TakeFilesBytesAndOtherRates) {
  const auto samples = WhisperFolder::recording(5);
  sound::WavFormat format;
  format.tag = 3;  // floats
  format.bits = 32;
  format.sampling_rate = WhisperFolder::kRate;
  const std::string file = sound::wav_file(format, sound::bytes_of(samples));
  const std::string path = (folder().path() / "talk.wav").string();
  std::ofstream(path, std::ios::binary) << file;
  const auto expected = json(model().transcribe(samples, WhisperFolder::kRate, greedy()));
  EXPECT_EQ(json(model().transcribe_file(path, greedy())), expected);
  EXPECT_EQ(json(model().transcribe_bytes(as_byte_span(file), "talk", greedy())), expected);
  EXPECT_NEAR(model().transcribe(samples, 8000, greedy()).duration, 10, 0.01);
}

TEST_F(Transcribers, FindWords) {
  ASSERT_TRUE(model().finds_words());
  auto options = greedy();
  options.word_timestamps = true;
  const auto made = model().transcribe(WhisperFolder::recording(5), WhisperFolder::kRate, options);
  std::string text, words;
  for (const speech::Segment& segment : made.segments) {
    text += segment.text;
    for (const speech::Word& word : segment.words) words += word.text;
  }
  EXPECT_FALSE(words.empty());
  EXPECT_EQ(words, text);
}

TEST_F(Transcribers, Cancel) {
  CancelToken token;
  const CancelScope scope(token);
  TranscriptionEvents events;
  int64_t told = 0;
  events.segment = [&](const speech::Segment& /*segment*/) {
    ++told;
    token.request();
  };
  EXPECT_ERROR(
      model().transcribe(WhisperFolder::recording(60), WhisperFolder::kRate, greedy(), events),
      ErrorCode::Cancelled, "cancelled");
  EXPECT_GT(told, 0);
}

TEST_F(Transcribers, NameWrongValues) {
  const auto samples = WhisperFolder::recording(1);
  auto options = greedy();
  options.beam_size = 65;
  EXPECT_ERROR(model().transcribe(samples, WhisperFolder::kRate, options),
               ErrorCode::InvalidArgument, "beam_size is 65");
  options = greedy();
  options.language = "fr";  // not one of the model's
  EXPECT_ERROR(model().transcribe(samples, WhisperFolder::kRate, options),
               ErrorCode::InvalidArgument, "fr");
  EXPECT_ERROR(model().transcribe(samples, 0), ErrorCode::Unsupported, "rate");
  EXPECT_ERROR(model().transcribe(samples, -8000), ErrorCode::Unsupported, "rate");
  const std::vector<float> wrong = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_ERROR(model().transcribe(wrong, WhisperFolder::kRate), ErrorCode::InvalidArgument,
               "sample 1 ");
  EXPECT_ERROR(model().transcribe(wrong, 8000), ErrorCode::InvalidArgument, "sample 1 ");
  EXPECT_ERROR(model().transcribe_file("absent.wav"), ErrorCode::NotFound, "absent.wav");
  EXPECT_ERROR(model().transcribe_bytes(as_byte_span("RIFF"), "talk"), ErrorCode::Unsupported,
               "talk: a RIFF file without sound");
  EXPECT_ERROR(Transcriber::open(demo_model_folder().string()), ErrorCode::Unsupported,
               "it does not transcribe recordings");
  TranscriberOptions elsewhere;
  elsewhere.tokenizer = "absent";
  EXPECT_ERROR(Transcriber::open(folder().path().string(), elsewhere), ErrorCode::NotFound,
               "absent");
}

}  // namespace
}  // namespace pippin
