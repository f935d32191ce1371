// Recordings through C: the results are those of C++.
#include "pippin/api/transcriber.h"

#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "pippin/c/c_testing.h"
#include "pippin/sound/wav_testing.h"
#include "pippin/speech/folder_testing.h"

namespace pippin::c {
namespace {

using speech::WhisperFolder;

struct Told {
  std::vector<std::string> texts;
  double end = 0;
  size_t most = std::numeric_limits<size_t>::max();
};

int32_t tell(void* user, const pippin_segment* segment) {
  auto& told = *static_cast<Told*>(user);
  EXPECT_EQ(segment->size, sizeof(pippin_segment));
  EXPECT_EQ(segment->id, std::ssize(told.texts));
  EXPECT_GE(segment->end, segment->start);
  told.texts.emplace_back(segment->text, static_cast<size_t>(segment->bytes));
  told.end = segment->end;
  return told.texts.size() < told.most ? 1 : 0;
}

class CTranscribers : public ::testing::Test {
 protected:
  static constexpr int64_t kRate = WhisperFolder::kRate;

  static void SetUpTestSuite() {
    folder_ = new TempDir;
    const WhisperFolder written(folder_->path());
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    ASSERT_WORKS(pippin_options_new(&options_, &error));
    set("temperature_increment_on_fallback", "0");
    set("no_speech_threshold", "none");
    set("threads", "1");
    ASSERT_WORKS(
        pippin_transcriber_open(folder_->path().c_str(), options_, nullptr, &model_, &error));
  }
  void TearDown() override {
    pippin_transcription_free(made_);
    pippin_transcriber_free(model_);
    pippin_options_free(options_);
  }

  void set(const char* name, const char* value) {
    ASSERT_WORKS(pippin_options_set(options_, name, value, &error));
  }
  pippin_code run(const std::vector<float>& samples, pippin_segment_function on_segment, void* user,
                  const pippin_cancel* cancel, pippin_error** error) {
    pippin_transcription_free(made_);
    return pippin_transcriber_run(model_, samples.data(), std::ssize(samples), kRate, options_,
                                  on_segment, user, cancel, &made_, error);
  }
  std::string written(const char* format) {
    char* text = nullptr;
    int64_t bytes = 0;
    pippin_error* error = nullptr;
    if (pippin_transcription_write(made_, format, &text, &bytes, &error) != PIPPIN_OK) {
      return taken(error);
    }
    std::string copy(text, static_cast<size_t>(bytes));
    EXPECT_EQ(copy, text);
    pippin_free(text);
    return copy;
  }
  static std::string expected(const std::vector<float>& samples,
                              speech::TranscribeOptions options = {}) {
    TranscriberOptions load;
    load.threads = 1;
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    return speech::write_json(
        Transcriber::open(folder_->path().string(), load).transcribe(samples, kRate, options));
  }

  static inline TempDir* folder_ = nullptr;
  pippin_options* options_ = nullptr;
  pippin_transcriber* model_ = nullptr;
  pippin_transcription* made_ = nullptr;
};

TEST_F(CTranscribers, GiveTheTextOfSamples) {
  const auto samples = WhisperFolder::recording(9);
  EXPECT_EQ(pippin_transcriber_sampling_rate(model_), kRate);
  Told told;
  ASSERT_WORKS(run(samples, tell, &told, nullptr, &error));
  EXPECT_EQ(written("json"), expected(samples));
  EXPECT_EQ(pippin_transcription_duration(made_), 9);
  EXPECT_EQ(std::string(pippin_transcription_language(made_)).size(), 2U);
  int64_t bytes = 0;
  const std::string text = pippin_transcription_text(made_, &bytes);
  EXPECT_EQ(std::ssize(text), bytes);
  ASSERT_EQ(pippin_transcription_segment_count(made_), std::ssize(told.texts));
  ASSERT_GT(told.texts.size(), 1U);
  for (size_t i = 0; i < told.texts.size(); ++i) {
    EXPECT_EQ(pippin_transcription_segment(made_, static_cast<int64_t>(i))->text, told.texts[i]);
  }
  EXPECT_EQ(pippin_transcription_segment(made_, std::ssize(told.texts) - 1)->end, told.end);
  EXPECT_EQ(pippin_transcription_segment(made_, std::ssize(told.texts)), nullptr);
  EXPECT_EQ(pippin_transcription_segment(made_, -1), nullptr);
  EXPECT_EQ(written("vtt").substr(0, 7), "WEBVTT\n");
  EXPECT_NE(written("doc").find("unknown format 'doc'"), std::string::npos);
}

TEST_F(CTranscribers, TakeOptionsByName) {
  const auto samples = WhisperFolder::recording(5);
  speech::TranscribeOptions options;
  options.language = "de";
  options.task = speech::Task::Translate;
  options.word_timestamps = true;
  options.beam_size = 2;
  options.max_tokens = 12;
  options.clip_timestamps = {0.5, 4};
  options.suppress_tokens = {-1, 'e'};
  options.initial_prompt = "Names";
  set("language", "German");
  set("task", "translate");
  set("word_timestamps", "true");
  set("beam_size", "2");
  set("max_tokens", "12");
  set("clip_timestamps", "0.5,4");
  set("suppress_tokens", "-1,101");
  set("initial_prompt", "Names");
  ASSERT_EQ(pippin_transcriber_finds_words(model_), 1);
  ASSERT_WORKS(run(samples, nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(written("json"), expected(samples, options));
  for (const auto& [name, value] : {std::pair("language", "elvish"),
                                    {"task", "sing"},
                                    {"clip_timestamps", "1,x"},
                                    {"suppress_tokens", "1.5"},
                                    {"no_speech_threshold", "low"},
                                    {"beam_size", "many"}}) {
    EXPECT_FAILS(pippin_options_set(options_, name, value, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
                 name);
  }
  set("beam_size", "65");
  EXPECT_FAILS(run(samples, nullptr, nullptr, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "beam_size is 65");
}

TEST_F(CTranscribers, ReadFiles) {
  const auto samples = WhisperFolder::recording(5);
  const std::string path = (folder_->path() / "talk.wav").string();
  sound::WavFormat format;
  format.tag = 3;
  format.bits = 32;
  std::ofstream(path, std::ios::binary) << sound::wav_file(format, sound::bytes_of(samples));
  const auto run_file = [&](const char* name, pippin_error** error) {
    return pippin_transcriber_run_file(model_, name, options_, nullptr, nullptr, nullptr, &made_,
                                       error);
  };
  ASSERT_WORKS(run_file(path.c_str(), &error));
  EXPECT_EQ(written("json"), expected(samples));
  pippin_transcription_free(made_);
  EXPECT_FAILS(run_file("absent.wav", &error), PIPPIN_ERROR_NOT_FOUND, "absent.wav");
  EXPECT_FAILS(run_file(nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "path is NULL");
  EXPECT_EQ(made_, nullptr);
}

TEST_F(CTranscribers, EndWhenCancelled) {
  const auto samples = WhisperFolder::recording(60);
  Told told;
  told.most = 2;
  EXPECT_FAILS(run(samples, tell, &told, nullptr, &error), PIPPIN_ERROR_CANCELLED, "callback");
  pippin_cancel* cancel = nullptr;
  ASSERT_WORKS(pippin_cancel_new(&cancel, &error));
  pippin_cancel_trigger(cancel);
  EXPECT_FAILS(run(samples, nullptr, nullptr, cancel, &error), PIPPIN_ERROR_CANCELLED, "");
  pippin_cancel_free(cancel);
  EXPECT_EQ(made_, nullptr);
}

TEST_F(CTranscribers, RefuseWhatIsWrong) {
  const float wrong = std::numeric_limits<float>::infinity();
  const auto run_samples = [&](const pippin_transcriber* model, const float* samples, int64_t count,
                               int64_t rate, pippin_error** error) {
    return pippin_transcriber_run(model, samples, count, rate, nullptr, nullptr, nullptr, nullptr,
                                  &made_, error);
  };
  EXPECT_FAILS(run_samples(model_, &wrong, 1, kRate, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "sample 0 ");
  EXPECT_FAILS(run_samples(model_, nullptr, 1, kRate, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "samples is NULL");
  EXPECT_FAILS(run_samples(model_, &wrong, -1, kRate, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "samples are -1");
  EXPECT_FAILS(run_samples(model_, nullptr, 0, 0, &error), PIPPIN_ERROR_UNSUPPORTED, "rate");
  EXPECT_FAILS(run_samples(nullptr, nullptr, 0, kRate, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "transcriber is NULL");
  pippin_transcriber* none = nullptr;
  EXPECT_FAILS(pippin_transcriber_open("absent", nullptr, nullptr, &none, &error),
               PIPPIN_ERROR_NOT_FOUND, "absent");
  EXPECT_FAILS(
      pippin_transcriber_open(demo_model_folder().c_str(), nullptr, nullptr, &none, &error),
      PIPPIN_ERROR_UNSUPPORTED, "");
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(pippin_transcription_text(nullptr, nullptr), nullptr);
  EXPECT_EQ(pippin_transcription_segment_count(nullptr), 0);
  pippin_transcription_free(nullptr);
  pippin_transcriber_free(nullptr);
  // Nothing to hear is not an error.
  ASSERT_WORKS(run({}, nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(pippin_transcription_segment_count(made_), 0);
}

}  // namespace
}  // namespace pippin::c
