// Recording of a folder with an encoder and a decoder (T5) as a program of the family
// `encoder-decoder` (families/encoder_decoder.h).
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/mil/model.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct EncoderDecoderBuildOptions {
  int64_t context = 0;  // largest number of tokens of a source, and of the target; 0: 512
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
  PackedMatrices* packed = nullptr;  // as in BuildOptions
};

// Throws like models::build().
mil::Model build_encoder_decoder(const std::filesystem::path& source,
                                 const EncoderDecoderBuildOptions& options = {});

}  // namespace pippin::models
