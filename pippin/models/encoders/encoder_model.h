// From a folder with an encoder to a recorded program of the family `encoder`
// (families/encoder.h): sentence-transformers' folders, encoders alone, causal models that embed,
// cross-encoders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct EncoderBuildOptions {
  int64_t context = 0;     // most tokens of a text; 0: as many as the model takes, at most 8192
  int64_t max_batch = 64;  // most texts at once
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
  PackedMatrices* packed = nullptr;  // as in BuildOptions
};

// What a folder's model is for, as its files say it.
enum class TextTask {
  Generate,  // none of the others
  Embed,
  Score,    // a classifier: a cross-encoder
  Rewrite,  // an encoder and a decoder: T5
};
// Throws what reading config.json throws.
TextTask text_task(const std::filesystem::path& source);

// Whether its model is an encoder alone, which no decoder of its kind could write texts with.
// Throws what reading config.json throws.
bool only_encodes(const std::filesystem::path& source);

// Throws as models::build(); Unsupported for modules and poolings that are not known.
mil::Model build_encoder(const std::filesystem::path& source,
                         const EncoderBuildOptions& options = {});

// The folder with its tokenizer, which may be that of its first module.
std::filesystem::path encoder_text_folder(const std::filesystem::path& source);

// The files that the package of an encoder keeps: those of package_files(), and how texts are
// prepared.
std::vector<mil::ExtraFile> encoder_files(const std::filesystem::path& source);

}  // namespace pippin::models
