#include "pippin/app/open/speech_model.h"

#include <string>
#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/speech_files.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/cache_type.h"
#include "pippin/families/whisperkit.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/model_source.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/speech/sequence_model.h"
#include "pippin/speech/sharded_model.h"
#include "pippin/speech/whisperkit/model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The tokenizer is that of the model on the Hub, given or found next to the packages.
fs::path whisperkit_tokenizer(const ModelChoice& choice) {
  if (choice.tokenizer.empty()) return runtime::find_packages(choice.path).tokenizer_folder();
  if (fs::exists(choice.tokenizer)) return choice.tokenizer;
  fail(ErrorCode::NotFound, "{}: there is no such tokenizer", choice.tokenizer);
}

OpenedWindows whisperkit_windows(const ModelChoice& choice) {
  auto pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  auto model = std::make_unique<speech::WhisperKitModel>(runtime::PackageFolder(choice.path), *pool,
                                                         choice.load.compute);
  const int64_t bins = model->bins();
  return {std::move(pool), std::move(model), bins};
}

OpenedWindows sequence_windows(const ModelChoice& choice, const runtime::RunnableModel& runnable) {
  std::unique_ptr<speech::SpeechModel> model;
  if (choice.decoder.empty()) {
    model = with_context(choice.path.empty() ? "the demo model" : choice.path,
                         [&] { return std::make_unique<speech::SequenceModel>(runnable.model); });
  } else {
    model = std::make_unique<speech::ShardedModel>(
        std::dynamic_pointer_cast<runtime::EncoderDecoderModel>(runnable.model), choice.decoder,
        *runnable.pool, choice.load.compute);
  }
  return {runnable.pool, std::move(model), runnable.model->source()->bins};
}

bool is_checkpoint_of_whisper(const fs::path& model) {
  if (!fs::exists(model / "config.json")) return false;
  const Json json = models::load_config(model);
  return models::is_encoder_decoder_type(json.get_string_or("model_type", "")) &&
         models::describe_encoder_decoder(models::Config(json)).has_fixed_source();
}

OpenedWhisper open_whisperkit(const ModelChoice& choice) {
  OpenedWindows windows = whisperkit_windows(choice);
  const speech::WindowShape shape = windows.model->shape();
  runtime::PackageFolder folder(choice.path);
  std::optional<sound::FeatureExtractor> extractor;
  std::unique_ptr<speech::WhisperKitMel> mel;
  constexpr const char* kMel = families::whisperkit::kMelPart;
  if (folder.contains(kMel)) {
    mel = std::make_unique<speech::WhisperKitMel>(folder.package(kMel), folder.file_name(kMel),
                                                  *windows.pool, choice.load.compute, windows.bins,
                                                  shape);
  } else {
    runtime::SourceForm source;
    source.bins = windows.bins;
    source.frames = shape.frames;
    extractor = read_extractor(choice.path, source);
  }
  return {std::move(windows.pool),
          std::move(windows.model),
          Tokenizer::open(whisperkit_tokenizer(choice)),
          read_generation(choice.path),
          std::move(extractor),
          std::move(mel),
          std::make_unique<std::mutex>()};
}

}  // namespace

int64_t OpenedWhisper::sampling_rate() const {
  return mel ? speech::WhisperKitMel::kSamplingRate : extractor->sampling_rate();
}

std::unique_ptr<speech::FeatureSource> OpenedWhisper::features(
    std::span<const float> samples) const {
  if (mel) return std::make_unique<speech::WhisperKitSource>(*mel, samples);
  return std::make_unique<speech::RecordingSource>(*extractor, samples, model->shape());
}

bool is_whisperkit(const fs::path& path) {
  return runtime::names_packages(path) &&
         runtime::find_packages(path).family == runtime::FoundPackages::Family::WhisperKit;
}

OpenedWindows open_windows(const ModelChoice& choice) {
  if (is_whisperkit(choice.path)) return whisperkit_windows(choice);
  return sequence_windows(choice, open_runnable(choice));
}

bool is_whisper(const fs::path& model) {
  if (is_whisperkit(model)) return true;
  if (mil::is_package(model)) {
    const mil::Model program = mil::read_package(model);
    if (!runtime::is_encoder_decoder(program)) return false;
    const auto source = runtime::encoder_decoder_schema(program).source;
    return source && source->bins > 0;
  }
  return is_checkpoint_of_whisper(model);
}

bool is_speech_model(const fs::path& model) {
  if (is_whisperkit(model) || is_fluidaudio(model) || recognizes_frames(model)) return true;
  if (mil::is_package(model)) {
    const mil::Model program = mil::read_package(model);
    return runtime::is_encoder_decoder(program) &&
           runtime::encoder_decoder_schema(program).source.has_value();
  }
  if (!fs::exists(model / "config.json")) return false;
  const Json json = models::load_config(model);
  return models::is_encoder_decoder_type(json.get_string_or("model_type", "")) &&
         models::describe_encoder_decoder(models::Config(json)).hears();
}

OpenedSpeech open_speech(const ModelChoice& given) {
  ModelChoice choice = resolve_choice(given);
  if (choice.load.cache_type != engine::CacheType::F16) {
    log_warn("{}: cache type {} is for models of text; this model of speech has caches of f16",
             given.path, to_string(choice.load.cache_type));
    choice.load.cache_type = engine::CacheType::F16;
  }
  for (const std::string& part : {choice.load.encoder, choice.decoder}) {
    if (part.empty() || is_checkpoint_of_whisper(choice.path)) continue;
    fail(ErrorCode::Unsupported, "{}: only GGML files and checkpoints of Whisper run with {}",
         given.path, part);
  }
  if (is_whisperkit(choice.path)) return open_whisperkit(choice);
  if (is_fluidaudio(choice.path)) return open_fluidaudio(choice);
  if (recognizes_frames(choice.path)) return open_frame_recognizer(choice);
  runtime::RunnableModel runnable = open_runnable(choice);
  const auto source = runnable.model->source();
  if (source && source->bins == 0) {
    return open_written_recognizer(std::move(runnable), find_speech_files(choice));
  }
  OpenedWindows windows = sequence_windows(choice, runnable);
  const SpeechFiles files = find_speech_files(choice);
  return OpenedWhisper{std::move(windows.pool),
                       std::move(windows.model),
                       Tokenizer::open(files.tokenizer),
                       read_generation(files.folder),
                       read_extractor(files.folder, *source),
                       nullptr,
                       choice.decoder.empty() ? nullptr : std::make_unique<std::mutex>()};
}

}  // namespace pippin::app
