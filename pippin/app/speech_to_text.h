// A model that writes the texts of recordings, opened once for any number of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "pippin/app/open/speech_model.h"
#include "pippin/speech/options.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/transcription.h"

namespace pippin::app {

// Whether a folder or a package is a model of speech. Throws the errors of reading its files.
bool is_speech_model(const std::filesystem::path& model);

// Thread-safe: windows of recordings that several threads transcribe take turns.
class SpeechToText {
 public:
  // Throws the errors of open_speech().
  static SpeechToText open(const ModelChoice& choice);

  int64_t sampling_rate() const { return opened_.extractor.sampling_rate(); }
  // Whether it finds the times of words.
  bool finds_words() const { return opened_.model->can_align(); }
  // Throws the errors of speech::Transcriber, and InvalidArgument for samples that are not finite.
  speech::Transcription transcribe(std::span<const float> samples,
                                   const speech::TranscribeOptions& options,
                                   const speech::Events& events = {}) const;

 private:
  explicit SpeechToText(OpenedSpeech opened) : opened_(std::move(opened)) {}

  OpenedSpeech opened_;
};

}  // namespace pippin::app
