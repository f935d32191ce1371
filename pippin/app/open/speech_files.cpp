#include "pippin/app/open/speech_files.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/models/model_source.h"
#include "pippin/speech/recognition/ctc_vocabulary.h"

namespace pippin::app {

namespace fs = std::filesystem;

SpeechFiles find_speech_files(const ModelChoice& choice) {
  SpeechFiles files;
  files.folder = choice.path;
  if (!choice.tokenizer.empty()) {
    files.tokenizer = choice.tokenizer;
    if (!fs::exists(files.tokenizer)) {
      fail(ErrorCode::NotFound, "{}: there is no such tokenizer", choice.tokenizer);
    }
  }
  if (runtime::names_packages(choice.path)) {
    files.packages = std::make_shared<runtime::FoundPackages>(runtime::find_packages(choice.path));
    const fs::path own = models::text_folder(files.packages->package);
    const bool has_tokenizer =
        Tokenizer::is_tokenizer_folder(own) || speech::CtcVocabulary::is_in(own);
    if (files.tokenizer.empty() && !has_tokenizer) {
      files.tokenizer = files.packages->tokenizer_folder();
    }
    const bool has_files = has_tokenizer || fs::exists(own / "preprocessor_config.json");
    files.folder = has_files ? own : files.tokenizer;
    if (files.tokenizer.empty()) files.tokenizer = own;
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

sound::FeatureExtractor read_extractor(const fs::path& folder, const runtime::SourceForm& source) {
  try {
    return sound::FeatureExtractor::open(folder);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
  }
  JsonWriter json;
  json.begin_object();
  if (source.bins == 0) {
    json.member("feature_extractor_type", "Wav2Vec2FeatureExtractor").member("do_normalize", false);
  } else {
    constexpr int64_t kFramesPerSecond = 100;
    json.member("feature_extractor_type", "WhisperFeatureExtractor");
    json.member("feature_size", source.bins);
    json.member("chunk_length", source.frames / kFramesPerSecond);
  }
  json.end_object();
  return sound::FeatureExtractor::parse(Json::parse(json.text(), "preprocessor_config.json"));
}

}  // namespace pippin::app
