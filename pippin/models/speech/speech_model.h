// From a folder with a model that recognizes speech to a recorded program of the family `speech`
// (families/speech.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::models {

struct SpeechBuildOptions {
  // The most frames of an input; 0: as many as a minute has, or the model's limit.
  int64_t context = 0;
  BuildOptions::Compute compute = BuildOptions::Compute::Float16Package;
};

// Whether the folder's model recognizes speech. Throws the errors of reading config.json.
bool is_speech_model(const std::filesystem::path& source);

// Throws like models::build().
mil::Model build_speech(const std::filesystem::path& source,
                        const SpeechBuildOptions& options = {});

// The files that its package keeps: those of package_files(), the feature extractor's settings, and
// the vocabulary of a tokenizer that has no other file (wav2vec 2.0's).
std::vector<mil::ExtraFile> speech_files(const std::filesystem::path& source);

// The most frames of an input of a program that build_speech() made.
int64_t frames_of(const mil::Model& model);

}  // namespace pippin::models
