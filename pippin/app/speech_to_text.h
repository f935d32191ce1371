// A model that writes the texts of recordings, opened once for any number of them: Whisper, or a
// recognizer (speech/recognition/recognizer.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "pippin/app/open/speech_model.h"
#include "pippin/speech/options.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/transcription.h"

namespace pippin::app {

// Thread-safe: windows of recordings that several threads transcribe take turns.
class SpeechToText {
 public:
  // Throws the errors of open_speech().
  static SpeechToText open(const ModelChoice& choice);

  int64_t sampling_rate() const;
  // Whether it knows languages: a transcription names one.
  bool knows_languages() const { return std::holds_alternative<OpenedWhisper>(opened_); }
  // Whether it finds the times of words.
  bool finds_words() const;
  // Returns the first option that the model does not take and that is not at its default, by its
  // name in TranscribeOptions (`temperature` for `temperatures`).
  std::optional<std::string_view> refused_option(const speech::TranscribeOptions& options) const;
  // Throws what transcribe() would throw for these options, whatever the recording.
  void check(const speech::TranscribeOptions& options) const;
  // Throws the errors of speech::Transcriber or speech::recognize_recording(), and InvalidArgument
  // for samples that are not finite.
  speech::Transcription transcribe(std::span<const float> samples,
                                   const speech::TranscribeOptions& options,
                                   const speech::Events& events = {}) const;

 private:
  explicit SpeechToText(OpenedSpeech opened) : opened_(std::move(opened)) {}

  OpenedSpeech opened_;
};

}  // namespace pippin::app
