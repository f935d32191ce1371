#include "pippin/app/open/recognizer_model.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/families/fluidaudio.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/speech/speech_model.h"
#include "pippin/runtime/encoder_decoder_schema.h"
#include "pippin/runtime/generation_config.h"
#include "pippin/runtime/speech/speech_recognizer.h"
#include "pippin/speech/recognition/ctc_vocabulary.h"
#include "pippin/speech/recognition/frame_recognizer.h"
#include "pippin/speech/recognition/parakeet_packages.h"
#include "pippin/speech/recognition/written_recognizer.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

speech::TokenTexts texts_of(Tokenizer tokenizer) {
  return [tokenizer = std::move(tokenizer)](int32_t id) {
    return tokenizer.is_special(id) ? std::string() : tokenizer.token_bytes(id);
  };
}

speech::TokenTexts read_texts(const fs::path& tokenizer) {
  if (!speech::CtcVocabulary::is_in(tokenizer)) return texts_of(Tokenizer::open(tokenizer));
  return [vocabulary = speech::CtcVocabulary::read(tokenizer)](int32_t id) {
    return vocabulary.text(id);
  };
}

mil::Model load_program(const ModelChoice& choice, const SpeechFiles& files) {
  if (files.packages != nullptr) return mil::read_package(files.packages->package);
  return models::build_speech(
      choice.path,
      {.context = choice.load.context, .compute = models::BuildOptions::Compute::Float32Direct});
}

}  // namespace

bool recognizes_frames(const fs::path& path) {
  if (path.empty() || !fs::exists(path)) return false;
  if (!runtime::names_packages(path)) return models::is_speech_model(path);
  const runtime::FoundPackages packages = runtime::find_packages(path);
  if (packages.family != runtime::FoundPackages::Family::Single) return false;
  return runtime::SpeechRecognizer::takes(mil::read_package(packages.package));
}

OpenedRecognizer open_frame_recognizer(const ModelChoice& choice) {
  if (!choice.load.adapter.empty()) {
    fail(ErrorCode::Unsupported, "{}: adapters are not supported for models that recognize speech",
         choice.path);
  }
  SpeechFiles files = find_speech_files(choice);
  speech::TokenTexts texts = read_texts(files.tokenizer);
  sound::FeatureExtractor extractor = sound::FeatureExtractor::open(files.folder);
  const auto pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  return with_context(choice.path, [&] {
    auto model = std::make_unique<runtime::SpeechRecognizer>(
        std::make_shared<const mil::Model>(load_program(choice, files)), pool, choice.load.compute);
    auto recognizer =
        std::make_unique<speech::FrameRecognizer>(std::move(model), std::move(extractor));
    return OpenedRecognizer{pool, std::move(files.packages), std::move(recognizer),
                            std::move(texts)};
  });
}

bool is_fluidaudio(const fs::path& path) {
  return !path.empty() && fs::exists(path) && runtime::names_packages(path) &&
         runtime::find_packages(path).family == runtime::FoundPackages::Family::FluidAudio;
}

OpenedRecognizer open_fluidaudio(const ModelChoice& choice) {
  fs::path folder = choice.path;
  if (!choice.tokenizer.empty()) folder = choice.tokenizer;
  if (!speech::PieceVocabulary::is_in(folder)) {
    fail(ErrorCode::NotFound, "{}: has no {}, the tokens of Parakeet's packages", folder.string(),
         families::fluidaudio::kVocabularyFile);
  }
  auto vocabulary = speech::PieceVocabulary::read(folder / families::fluidaudio::kVocabularyFile);
  auto pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  auto recognizer = std::make_unique<speech::ParakeetPackages>(
      runtime::PackageFolder(choice.path), vocabulary.size(), *pool, choice.load.compute);
  return {std::move(pool), nullptr, std::move(recognizer),
          [vocabulary = std::move(vocabulary)](int32_t id) { return vocabulary.text(id); }};
}

OpenedRecognizer open_written_recognizer(runtime::RunnableModel runnable,
                                         const SpeechFiles& files) {
  const runtime::EncoderDecoderSchema schema = runtime::encoder_decoder_schema(*runnable.program);
  Tokenizer tokenizer = Tokenizer::open(files.tokenizer);
  speech::TextEnds ends{schema.start, schema.first,
                        runtime::read_generation_config(files.folder, tokenizer).end_ids};
  auto recognizer = std::make_unique<speech::WrittenRecognizer>(
      runnable.model, read_extractor(files.folder, *runnable.model->source()), std::move(ends));
  std::shared_ptr<ThreadPool> pool = runnable.pool;
  return {std::move(pool), std::make_shared<runtime::RunnableModel>(std::move(runnable)),
          std::move(recognizer), texts_of(std::move(tokenizer))};
}

}  // namespace pippin::app
