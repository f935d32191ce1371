// Recording of a folder with an encoder and a decoder (T5, Whisper) as a program of the family
// `encoder-decoder` (families/encoder_decoder.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct EncoderDecoderBuildOptions {
  // Largest number of tokens of a source, unless it is a recording, and of the target; 0: 512, and
  // for recordings the model's.
  int64_t context = 0;
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
  PackedMatrices* packed = nullptr;  // as in BuildOptions
};

// Throws like models::build().
mil::Model build_encoder_decoder(const std::filesystem::path& source,
                                 const EncoderDecoderBuildOptions& options = {});

// The files that its package keeps: those of package_files(), and the settings of the features.
std::vector<mil::ExtraFile> encoder_decoder_files(const std::filesystem::path& source);

}  // namespace pippin::models
