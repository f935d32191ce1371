#include "pippin/api/transcriber.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/app/speech_to_text.h"
#include "pippin/base/error.h"
#include "pippin/sound/sound_reader.h"

namespace pippin {

struct Transcriber::Impl {
  app::SpeechToText model;

  speech::Transcription run(std::span<const float> samples,
                            const speech::TranscribeOptions& options,
                            const TranscriptionEvents& events) const {
    return model.transcribe(samples, options, {events.detected, events.segment, events.progress});
  }
};

namespace {

void check_finite(std::span<const float> samples) {
  const auto wrong = std::find_if(samples.begin(), samples.end(),
                                  [](float sample) { return !std::isfinite(sample); });
  if (wrong == samples.end()) return;
  fail(ErrorCode::InvalidArgument, "samples: sample {} is not a finite number",
       wrong - samples.begin());
}

}  // namespace

Transcriber::Transcriber(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Transcriber Transcriber::open(const std::string& path, const TranscriberOptions& options) {
  app::ModelChoice choice;
  choice.path = path;
  choice.tokenizer = options.tokenizer;
  choice.vad = options.vad;
  choice.load = static_cast<const runtime::LoadOptions&>(options);
  return Transcriber(std::make_shared<const Impl>(Impl{app::SpeechToText::open(choice)}));
}

speech::Transcription Transcriber::transcribe(std::span<const float> samples, int64_t sampling_rate,
                                              const speech::TranscribeOptions& options,
                                              const TranscriptionEvents& events) const {
  check_finite(samples);
  if (sampling_rate == impl_->model.sampling_rate()) return impl_->run(samples, options, events);
  const std::vector<float> resampled =
      sound::SoundReader::floats(samples, "samples", {sampling_rate, 1},
                                 impl_->model.sampling_rate())
          .read_all();
  return impl_->run(resampled, options, events);
}

speech::Transcription Transcriber::transcribe_file(const std::string& path,
                                                   const speech::TranscribeOptions& options,
                                                   const TranscriptionEvents& events) const {
  options.check();
  const std::vector<float> samples =
      sound::read_sound(std::filesystem::path(path), impl_->model.sampling_rate());
  return with_context(path, [&] { return impl_->run(samples, options, events); });
}

speech::Transcription Transcriber::transcribe_bytes(ByteSpan file, const std::string& name,
                                                    const speech::TranscribeOptions& options,
                                                    const TranscriptionEvents& events) const {
  options.check();
  const std::vector<float> samples = sound::read_sound(file, name, impl_->model.sampling_rate());
  return with_context(name, [&] { return impl_->run(samples, options, events); });
}

int64_t Transcriber::sampling_rate() const {
  return impl_->model.sampling_rate();
}
bool Transcriber::finds_words() const {
  return impl_->model.finds_words();
}

}  // namespace pippin
