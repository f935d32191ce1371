#include "pippin/app/open/speech_model.h"

#include <optional>
#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/runtime/open/package_family.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The text files of a model; those of an unpacked archive exist as long as this.
struct TextFiles {
  std::optional<runtime::FoundPackages> packages;
  fs::path tokenizer, folder;
};

TextFiles find_text(const ModelChoice& choice) {
  TextFiles files;
  files.folder = choice.path;
  if (!choice.tokenizer.empty()) {
    files.tokenizer = choice.tokenizer;
    if (!fs::exists(files.tokenizer)) {
      fail(ErrorCode::NotFound, "{}: there is no such tokenizer", choice.tokenizer);
    }
  }
  if (runtime::names_packages(choice.path)) {
    files.packages = runtime::find_packages(choice.path);
    // A package without a tokenizer gets all text files from the folder that is named instead.
    files.folder = files.tokenizer.empty() ? files.packages->tokenizer_folder() : files.tokenizer;
  }
  if (files.tokenizer.empty()) files.tokenizer = files.folder;
  return files;
}

Json read_generation(const fs::path& folder) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (fs::exists(folder / name)) return Json::load(folder / name, kPythonJson);
  }
  return Json::parse("{}", "generation_config.json");
}

// Whisper's rule, of which files state only the number of bins, if there is no file.
sound::FeatureExtractor read_extractor(const fs::path& folder, const runtime::SourceForm& source) {
  try {
    return sound::FeatureExtractor::open(folder);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
  }
  JsonWriter json;
  json.begin_object().member("feature_extractor_type", "WhisperFeatureExtractor");
  json.member("feature_size", source.bins);
  constexpr int64_t kFramesPerSecond = 100;
  json.member("chunk_length", source.frames / kFramesPerSecond).end_object();
  return sound::FeatureExtractor::parse(Json::parse(json.text(), "preprocessor_config.json"));
}

}  // namespace

OpenedSpeech open_speech(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given);
  runtime::RunnableModel runnable = open_runnable(choice);
  auto model = with_context(choice.path.empty() ? "the demo model" : choice.path, [&] {
    return std::make_unique<speech::SequenceModel>(runnable.model);
  });
  const TextFiles text = find_text(choice);
  const runtime::SourceForm& source = *runnable.model->source();
  return {std::move(runnable), std::move(model), Tokenizer::open(text.tokenizer),
          read_generation(text.folder), read_extractor(text.folder, source)};
}

}  // namespace pippin::app
