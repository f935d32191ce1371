#include "pippin/app/speech_to_text.h"

#include <memory>
#include <mutex>

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
