// From a folder with an encoder to a recorded program of the family `encoder` (families/encoder.h):
// sentence-transformers' folders, plain encoders, causal models that embed, cross-encoders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct EncoderBuildOptions {
  int64_t context = 0;     // largest number of tokens of a text; 0: the model's limit, at most 8192
  int64_t max_batch = 64;  // largest number of texts at once
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
  PackedMatrices* packed = nullptr;  // as in BuildOptions
};

// The task of a folder's model, according to its files.
enum class TextTask {
  Generate,  // none of the others
  Embed,
  Score,         // a classifier: a cross-encoder
  EncodeDecode,  // an encoder and a decoder: T5
};
// Throws the errors of reading config.json.
TextTask text_task(const std::filesystem::path& source);

// Whether its model is an encoder only, which has no decoder of its kind for writing texts. Throws
// the errors of reading config.json.
bool only_encodes(const std::filesystem::path& source);

// Throws like models::build(); Unsupported for unknown modules and poolings.
mil::Model build_encoder(const std::filesystem::path& source,
                         const EncoderBuildOptions& options = {});

// The folder with its tokenizer, which may be that of its first module.
std::filesystem::path encoder_text_folder(const std::filesystem::path& source);

// The files that the package of an encoder keeps: those of package_files(), and the preparation of
// texts.
std::vector<mil::ExtraFile> encoder_files(const std::filesystem::path& source);

}  // namespace pippin::models
