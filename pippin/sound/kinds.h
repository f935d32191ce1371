// The table of feature extractors. A new kind is a function that reads its configuration, and a
// row.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/sound/feature_kind.h"

namespace pippin::sound {

ReadKind read_clap, read_codec, read_gemma, read_granite, read_lasr, read_parakeet, read_phi,
    read_sample_frames, read_samples, read_seamless, read_spectrogram_transformer,
    read_speech_to_text, read_whisper;

struct KindRow {
  std::string_view type;
  ReadKind* read;
};
inline constexpr KindRow kKinds[] = {
    {"ASTFeatureExtractor", read_spectrogram_transformer},
    {"ClapFeatureExtractor", read_clap},
    {"CohereAsrFeatureExtractor", read_parakeet},
    {"DacFeatureExtractor", read_codec},
    {"EncodecFeatureExtractor", read_codec},
    {"Gemma3nAudioFeatureExtractor", read_gemma},
    {"Gemma4AudioFeatureExtractor", read_gemma},
    {"Gemma4UnifiedAudioFeatureExtractor", read_sample_frames},
    {"GraniteSpeechFeatureExtractor", read_granite},
    {"KyutaiSpeechToTextFeatureExtractor", read_codec},
    {"LasrFeatureExtractor", read_lasr},
    {"ParakeetFeatureExtractor", read_parakeet},
    {"Phi4MultimodalFeatureExtractor", read_phi},
    {"Qwen3ASRFeatureExtractor", read_whisper},
    {"SeamlessM4TFeatureExtractor", read_seamless},
    {"Speech2TextFeatureExtractor", read_speech_to_text},
    {"Wav2Vec2FeatureExtractor", read_samples},
    {"WhisperFeatureExtractor", read_whisper},
};

}  // namespace pippin::sound
