// Opens the commands' MODEL as a model of speech: a Hugging Face folder, a package, org/name, or a
// folder of WhisperKit's packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>

#include "pippin/app/open/open_model.h"
#include "pippin/app/open/recognizer_model.h"
#include "pippin/io/json.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/whisperkit/features.h"
#include "pippin/speech/window_decoder.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

// A Whisper model.
struct OpenedWhisper {
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<speech::SpeechModel> model;
  Tokenizer tokenizer;
  // generation_config.json or, in older folders, config.json; an empty object if neither exists.
  Json generation_config;
  // One of the two makes the features.
  std::optional<sound::FeatureExtractor> extractor;
  std::unique_ptr<speech::WhisperKitMel> mel;
  // Held during a transcription by a model that takes one at a time; null for others.
  std::unique_ptr<std::mutex> turn;

  // The rate of the samples, in Hz.
  int64_t sampling_rate() const;
  // The features of a recording, which must outlive the result, as must this object. Throws as the
  // constructors of the sources.
  std::unique_ptr<speech::FeatureSource> features(std::span<const float> samples) const;
};

// A Whisper model without its features and texts.
struct OpenedWindows {
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<speech::SpeechModel> model;
  int64_t bins = 0;  // of the features of a window
};

// Of a choice that resolve_choice() returned. Throws Unsupported for a model that does not take
// features of sound.
OpenedWindows open_windows(const ModelChoice& choice);

using OpenedSpeech = std::variant<OpenedWhisper, OpenedRecognizer>;

// Whether it is a folder of WhisperKit's packages.
bool is_whisperkit(const std::filesystem::path& path);

// Whether a folder or a package is a Whisper model. Throws the errors of reading its files.
bool is_whisper(const std::filesystem::path& model);

// Whether a folder or a package is a model of speech. Throws the errors of reading its files.
bool is_speech_model(const std::filesystem::path& model);

// Throws the errors of open_runnable() and of reading the files; Unsupported for a model that does
// not take sound.
OpenedSpeech open_speech(const ModelChoice& choice);

}  // namespace pippin::app
