// Opens the commands' MODEL as a model of speech: a Hugging Face folder, a package, or org/name.
#pragma once

#include <memory>
#include <variant>

#include "pippin/app/open/open_model.h"
#include "pippin/app/open/recognizer_model.h"
#include "pippin/io/json.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/speech/sequence_model.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

// A Whisper model.
struct OpenedWhisper {
  runtime::RunnableModel runnable;
  std::unique_ptr<speech::SequenceModel> model;
  Tokenizer tokenizer;
  // generation_config.json or, in older folders, config.json; an empty object if neither exists.
  Json generation_config;
  sound::FeatureExtractor extractor;
};

using OpenedSpeech = std::variant<OpenedWhisper, OpenedRecognizer>;

// Throws the errors of open_runnable() and of reading the files; Unsupported for a model that does
// not take sound.
OpenedSpeech open_speech(const ModelChoice& choice);

}  // namespace pippin::app
