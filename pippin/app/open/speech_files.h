// The text files of a model of speech.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "pippin/app/open/open_model.h"
#include "pippin/io/json.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/runtime/source.h"
#include "pippin/sound/feature_extractor.h"

namespace pippin::app {

// Those of an unpacked archive exist as long as this.
struct SpeechFiles {
  std::shared_ptr<runtime::FoundPackages> packages;  // null for a Hugging Face folder
  std::filesystem::path tokenizer;                   // a file or a folder
  // The folder of the model's other files: its own, or the tokenizer's for a package that has
  // neither a tokenizer nor a preprocessor_config.json.
  std::filesystem::path folder;
};

// Of a choice that resolve_choice() returned. Throws NotFound if the package has no tokenizer and
// none is given.
SpeechFiles find_speech_files(const ModelChoice& choice);

// generation_config.json or, in older folders, config.json; an empty object if neither exists.
Json read_generation(const std::filesystem::path& folder);

// The rule of the folder's preprocessor_config.json. Without that file it is that of the models
// that take such sources: Whisper's, of which `source` states all that varies, or for samples
// Moonshine's.
sound::FeatureExtractor read_extractor(const std::filesystem::path& folder,
                                       const runtime::SourceForm& source);

}  // namespace pippin::app
