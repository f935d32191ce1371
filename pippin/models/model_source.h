// What a model is made from: a Hugging Face folder; a package that Pippin made of one, or a folder
// of such packages (then the weights are those of the package, in their modules' form); or a
// config.json alone, for random weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pippin/io/json.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

// The folder of the configuration and the tokenizer's files: in a package Data/huggingface. Empty
// for a config.json alone.
std::filesystem::path text_folder(const std::filesystem::path& source);

// Throws NotFound, naming what is missing.
Json load_config(const std::filesystem::path& source);

// The name of the model that a package says that it was made from; empty for other sources.
std::string name_in_package(const std::filesystem::path& source);

// Throws NotFound (no weights), InvalidFile (packages that do not belong together), Unsupported (a
// package that Pippin did not make, or whose weights are scaled for its family).
nn::Parameters open_parameters(const std::filesystem::path& source, nn::Precision precision,
                               const nn::Style& style = {});

// What a package of Pippin's, or a folder of them, says of its shape.
struct PackageShape {
  std::string family;
  int64_t context = 0;  // 0: it does not say
};
// Throws as open_parameters().
PackageShape shape_of_packages(const std::filesystem::path& source);

// A package, or a folder of packages.
bool is_made_of_packages(const std::filesystem::path& source);

}  // namespace pippin::models
