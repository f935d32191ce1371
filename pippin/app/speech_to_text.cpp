#include "pippin/app/speech_to_text.h"

#include <memory>
#include <mutex>

#include "pippin/base/error.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/recognition/recognize_recording.h"
#include "pippin/speech/recognition/window_length.h"
#include "pippin/speech/voice/voice_ranges.h"
#include "pippin/speech/voice/voiced_sound.h"

namespace pippin::app {
namespace {

speech::Transcriber transcriber_of(const OpenedWhisper& whisper,
                                   const speech::TranscribeOptions& options) {
  return {*whisper.model, whisper.tokenizer, whisper.generation_config, options};
}

}  // namespace

SpeechToText SpeechToText::open(const ModelChoice& choice) {
  return {open_speech(choice), choice.vad.empty() ? OpenedVoice() : open_voice(choice)};
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
  if (options.vad_filter && voice_.detector == nullptr) {
    fail(ErrorCode::InvalidArgument, "vad_filter: no model of voice was opened");
  }
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_)) {
    transcriber_of(*whisper, options);
  } else {
    speech::check_options(*std::get<OpenedRecognizer>(opened_).recognizer, options);
  }
}

speech::Transcription SpeechToText::transcribe(std::span<const float> samples,
                                               const speech::TranscribeOptions& options,
                                               const speech::Events& events) const {
  if (!options.vad_filter) return transcribe_all(samples, options, events);
  check(options);
  return transcribe_voice(samples, options, events);
}

speech::Transcription SpeechToText::transcribe_voice(std::span<const float> samples,
                                                     const speech::TranscribeOptions& options,
                                                     const speech::Events& events) const {
  const int64_t rate = sampling_rate();
  const std::vector<float> probabilities = voice_.detector->probabilities(samples);
  const std::vector<speech::SampleRange> voice = speech::voice_ranges(
      {probabilities, voice_.detector->window_samples(), samples.size(), rate}, options);
  const speech::VoicedSound sound(
      samples, speech::ranges_in_clips(voice, options.clip_timestamps, rate), rate);
  speech::TranscribeOptions rest = options;
  rest.clip_timestamps.clear();
  const double duration = static_cast<double>(samples.size()) / static_cast<double>(rate);
  speech::Events told = events;
  if (events.segment) {
    told.segment = [&](speech::Segment segment) {
      sound.restore(segment);
      events.segment(segment);
    };
  }
  if (events.progress) {
    told.progress = [&](double done, double all) {
      events.progress(done < all ? sound.original(done, false) : duration, duration);
    };
  }
  speech::Transcription made = transcribe_all(sound.samples(), rest, told);
  for (speech::Segment& segment : made.segments) sound.restore(segment);
  made.duration = duration;
  return made;
}

speech::Transcription SpeechToText::transcribe_all(std::span<const float> samples,
                                                   const speech::TranscribeOptions& options,
                                                   const speech::Events& events) const {
  if (const auto* whisper = std::get_if<OpenedWhisper>(&opened_)) {
    std::unique_lock<std::mutex> turn;
    if (whisper->turn != nullptr) turn = std::unique_lock(*whisper->turn);
    const std::unique_ptr<speech::FeatureSource> source = whisper->features(samples);
    if (options.batch_size <= 1) {
      return transcriber_of(*whisper, options).transcribe(*source, events);
    }
    speech::TranscribeOptions together = options;
    const int64_t rate = whisper->sampling_rate();
    const double most = whisper->model->shape().seconds() * static_cast<double>(rate);
    together.clip_timestamps =
        speech::window_clips(samples, options.clip_timestamps, static_cast<size_t>(most), rate);
    return transcriber_of(*whisper, together).transcribe(*source, events);
  }
  const auto& [pool, files, recognizer, texts] = std::get<OpenedRecognizer>(opened_);
  return speech::recognize_recording(*recognizer, texts, samples, options, events);
}

}  // namespace pippin::app
