// Language models with vision towers, as two GGUF files or a folder: what a picture gives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/image/image_inputs.h"
#include "pippin/runtime/open/loaded_model.h"

namespace pippin::testing_gguf {

// Exact arithmetic on one thread. Empty paths are the defaults of the library.
runtime::LoadedModel open_with_tower(const std::filesystem::path& model,
                                     const std::string& mmproj = "",
                                     const std::filesystem::path& tokenizer = {});

// After "abc", with a picture of 16 x 16 pixels before it or without.
std::vector<float> picture_logits(const runtime::LoadedModel& model);
std::vector<float> text_logits(const runtime::LoadedModel& model);

// The inputs that a folder's processor makes of a picture of that size.
image::ImageInputs picture_inputs(const std::filesystem::path& folder, int64_t width,
                                  int64_t height);

// The rows of all runs, by the tower of a folder.
std::vector<float> tower_rows(const std::filesystem::path& folder,
                              const image::ImageInputs& inputs);

}  // namespace pippin::testing_gguf
