// Recording of a folder with an encoder and a decoder (T5, Whisper) as a program of the family
// `encoder-decoder` (families/encoder_decoder.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct EncoderDecoderBuildOptions {
  // Largest number of tokens of a source, unless it is a recording, and of the target; 0: 512, and
  // for recordings the model's.
  int64_t context = 0;
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
  PackedMatrices* packed = nullptr;  // as in BuildOptions
  bool attend = false;               // with the function `attend`, for LoadOptions::encoder
};

// Throws like models::build().
mil::Model build_encoder_decoder(const std::filesystem::path& source,
                                 const EncoderDecoderBuildOptions& options = {});

// The description of a folder's model with what its generation_config.json says. Throws the errors
// of describe_encoder_decoder(), and InvalidFile.
EncoderDecoderDescription describe_encoder_decoder(const std::filesystem::path& source,
                                                   const Config& config);

// The files that its package keeps: those of package_files(), and the settings of the features.
std::vector<mil::ExtraFile> encoder_decoder_files(const std::filesystem::path& source);

}  // namespace pippin::models
