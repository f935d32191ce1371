#include "pippin/app/speech_to_text.h"

#include <memory>
#include <mutex>

#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/model_source.h"
#include "pippin/runtime/encoder_decoder_schema.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/recognition/recognize_recording.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

speech::Transcriber transcriber_of(const OpenedWhisper& whisper,
                                   const speech::TranscribeOptions& options) {
  return {*whisper.model, whisper.tokenizer, whisper.generation_config, options};
}

}  // namespace

bool is_speech_model(const fs::path& model) {
  if (is_whisperkit(model) || recognizes_frames(model)) return true;
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

SpeechToText SpeechToText::open(const ModelChoice& choice) {
  return SpeechToText(open_speech(choice));
}

int64_t SpeechToText::sampling_rate() const {
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_)) {
    return whisper->sampling_rate();
  }
  return std::get<OpenedRecognizer>(opened_).recognizer->sampling_rate();
}

bool SpeechToText::finds_words() const {
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_))
    return whisper->model->can_align();
  return std::get<OpenedRecognizer>(opened_).recognizer->finds_times();
}

std::optional<std::string_view> SpeechToText::refused_option(
    const speech::TranscribeOptions& options) const {
  if (knows_languages()) return std::nullopt;
  return speech::option_of_whisper(options);
}

void SpeechToText::check(const speech::TranscribeOptions& options) const {
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_)) {
    transcriber_of(*whisper, options);
  } else {
    speech::check_options(*std::get<OpenedRecognizer>(opened_).recognizer, options);
  }
}

speech::Transcription SpeechToText::transcribe(std::span<const float> samples,
                                               const speech::TranscribeOptions& options,
                                               const speech::Events& events) const {
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_)) {
    std::unique_lock<std::mutex> turn;
    if (whisper->turn != nullptr) turn = std::unique_lock(*whisper->turn);
    const std::unique_ptr<speech::FeatureSource> source = whisper->features(samples);
    return transcriber_of(*whisper, options).transcribe(*source, events);
  }
  const auto& [files, recognizer, texts] = std::get<OpenedRecognizer>(opened_);
  return speech::recognize_recording(*recognizer, texts, samples, options, events);
}

}  // namespace pippin::app
