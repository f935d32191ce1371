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
#include "pippin/app/open/voice_model.h"
#include "pippin/speech/options.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/transcription.h"

namespace pippin::app {

// Thread-safe: windows of recordings that several threads transcribe take turns.
class SpeechToText {
 public:
  // Throws the errors of open_speech() and, for a model of voice, open_voice().
  static SpeechToText open(const ModelChoice& choice);

  int64_t sampling_rate() const;
  // Whether it knows languages: a transcription names one.
  bool knows_languages() const { return std::holds_alternative<OpenedWhisper>(opened_); }
  // Whether it finds the times of words.
  bool finds_words() const;
  // Whether it has a model of voice, for TranscribeOptions::vad_filter.
  bool finds_voice() const { return voice_.detector != nullptr; }
  // Returns the first option that the model does not take and that is not at its default, by its
  // name in TranscribeOptions (`temperature` for `temperatures`).
  std::optional<std::string_view> refused_option(const speech::TranscribeOptions& options) const;
  // Throws what transcribe() would throw for these options, whatever the recording.
  void check(const speech::TranscribeOptions& options) const;
  // Throws the errors of speech::Transcriber or speech::recognize_recording(), and InvalidArgument
  // for samples that are not finite and for vad_filter without a model of voice.
  speech::Transcription transcribe(std::span<const float> samples,
                                   const speech::TranscribeOptions& options,
                                   const speech::Events& events = {}) const;

 private:
  SpeechToText(OpenedSpeech opened, OpenedVoice voice)
      : opened_(std::move(opened)), voice_(std::move(voice)) {}

  speech::Transcription transcribe_all(std::span<const float> samples,
                                       const speech::TranscribeOptions& options,
                                       const speech::Events& events) const;
  // The same without silence.
  speech::Transcription transcribe_voice(std::span<const float> samples,
                                         const speech::TranscribeOptions& options,
                                         const speech::Events& events) const;

  OpenedSpeech opened_;
  OpenedVoice voice_;
};

}  // namespace pippin::app
