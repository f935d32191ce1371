#include "pippin/app/open/speech_model.h"

#include <optional>
#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/families/whisperkit.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/speech/sequence_model.h"
#include "pippin/speech/whisperkit/model.h"

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
sound::FeatureExtractor read_extractor(const fs::path& folder, int64_t bins, int64_t frames) {
  try {
    return sound::FeatureExtractor::open(folder);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
  }
  JsonWriter json;
  json.begin_object().member("feature_extractor_type", "WhisperFeatureExtractor");
  json.member("feature_size", bins);
  constexpr int64_t kFramesPerSecond = 100;
  json.member("chunk_length", frames / kFramesPerSecond).end_object();
  return sound::FeatureExtractor::parse(Json::parse(json.text(), "preprocessor_config.json"));
}

bool is_whisperkit(const ModelChoice& choice) {
  return runtime::names_packages(choice.path) &&
         runtime::find_packages(choice.path).family == runtime::FoundPackages::Family::WhisperKit;
}

OpenedSpeech open_whisperkit(const ModelChoice& choice) {
  auto pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  const engine::ComputeOptions& compute = choice.load.compute;
  auto model = std::make_unique<speech::WhisperKitModel>(runtime::PackageFolder(choice.path), *pool,
                                                         compute);
  const TextFiles text = find_text(choice);
  std::optional<sound::FeatureExtractor> extractor;
  std::unique_ptr<speech::WhisperKitMel> mel;
  runtime::PackageFolder folder(choice.path);
  constexpr const char* kMel = families::whisperkit::kMelPart;
  if (folder.contains(kMel)) {
    mel = std::make_unique<speech::WhisperKitMel>(folder.package(kMel), folder.file_name(kMel),
                                                  *pool, compute, model->bins(), model->shape());
  } else {
    extractor = read_extractor(choice.path, model->bins(), model->shape().frames);
  }
  return {std::move(pool),
          std::move(model),
          Tokenizer::open(text.tokenizer),
          read_generation(choice.path),
          std::move(extractor),
          std::move(mel)};
}

}  // namespace

int64_t OpenedSpeech::sampling_rate() const {
  return mel ? speech::WhisperKitMel::kSamplingRate : extractor->sampling_rate();
}

std::unique_ptr<speech::FeatureSource> OpenedSpeech::features(std::span<const float> samples) {
  if (mel) return std::make_unique<speech::WhisperKitSource>(*mel, samples);
  return std::make_unique<speech::RecordingSource>(*extractor, samples, model->shape());
}

OpenedSpeech open_speech(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given);
  if (is_whisperkit(choice)) return open_whisperkit(choice);
  runtime::RunnableModel runnable = open_runnable(choice);
  auto model = with_context(choice.path.empty() ? "the demo model" : choice.path, [&] {
    return std::make_unique<speech::SequenceModel>(runnable.model);
  });
  const TextFiles text = find_text(choice);
  const runtime::SourceForm& source = *runnable.model->source();
  return {runnable.pool,
          std::move(model),
          Tokenizer::open(text.tokenizer),
          read_generation(text.folder),
          read_extractor(text.folder, source.bins, source.frames),
          nullptr};
}

}  // namespace pippin::app
