#include "pippin/app/speech_to_text.h"

#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/model_source.h"
#include "pippin/runtime/encoder_decoder_schema.h"
#include "pippin/speech/feature_source.h"

namespace pippin::app {

namespace fs = std::filesystem;

bool is_speech_model(const fs::path& model) {
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

speech::Transcription SpeechToText::transcribe(std::span<const float> samples,
                                               const speech::TranscribeOptions& options,
                                               const speech::Events& events) const {
  speech::Transcriber transcriber(*opened_.model, opened_.tokenizer, opened_.generation_config,
                                  options);
  speech::RecordingSource source(opened_.extractor, samples, opened_.model->shape());
  return transcriber.transcribe(source, events);
}

}  // namespace pippin::app
