// The package family `whisperkit` (families/whisperkit.h) of a Whisper checkpoint: convolutions
// over channels, which Apple's Neural Engine prefers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/family/package_part.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

struct WhisperKitOptions {
  // Tokens of the decoder's caches; 0: those of published packages, or fewer if the model has
  // fewer.
  int64_t context = 0;
  mil::Opset opset = mil::Opset::CoreML7;
  mil::DataType type = mil::DataType::Float16;  // of weights and arrays
};

class WhisperKit {
 public:
  // Throws the errors of build_encoder_decoder(), and Unsupported for other models.
  WhisperKit(const std::filesystem::path& hf_folder, const WhisperKitOptions& options);

  const Description& description() const { return named_; }
  int64_t context() const { return options_.context; }
  int64_t num_parameters() const { return parameters_.num_parameters(); }
  // MelSpectrogram, AudioEncoder, TextDecoder. Throws InvalidFile for a tensor that none of them
  // uses.
  std::vector<PackagePart> parts() const;
  std::string meta_json() const;

 private:
  int64_t bins() const { return model_.encoder.stem->inputs; }
  int64_t frames() const { return model_.encoder.stem->frames; }
  int64_t positions() const { return model_.encoder.context; }
  PackagePart start_part(PackagePart::Kind kind, const char* stem) const;
  PackagePart mel_spectrogram() const;
  PackagePart audio_encoder() const;
  PackagePart text_decoder() const;
  // The sum of the token's and its position's embeddings, (1, d, 1, 1).
  array::Array embedded(const array::Array& ids, const array::Array& length) const;
  array::Array logits(const array::Array& x) const;

  Description named_;  // without a decoder
  EncoderDecoderDescription model_;
  WhisperKitOptions options_;
  nn::Parameters parameters_, decoder_;
};

// The files of the folder next to the packages.
std::vector<mil::ExtraFile> whisperkit_files(const std::filesystem::path& hf_folder);

}  // namespace pippin::models
