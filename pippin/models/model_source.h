// The source of a model: a Hugging Face folder; a package that Pippin made of one, or a folder of
// such packages (then the weights are those of the package, in their modules' form); or a single
// config.json, for random weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pippin/io/json.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

// The folder of the configuration and the tokenizer's files: in a package Data/huggingface. Empty
// for a single config.json.
std::filesystem::path text_folder(const std::filesystem::path& source);

// Throws NotFound, naming the missing file.
Json load_config(const std::filesystem::path& source);

// The name of the source model in a package's metadata; empty for other sources.
std::string name_in_package(const std::filesystem::path& source);

// Throws NotFound (no weights), InvalidFile (packages that do not belong together), Unsupported (a
// package that Pippin did not make, or whose weights are scaled for its family).
nn::Parameters open_parameters(const std::filesystem::path& source, nn::Precision precision,
                               const nn::Style& style = {});

// The metadata of shape in a package made by Pippin, or in a folder of them.
struct PackageShape {
  std::string family;
  int64_t context = 0;  // 0: unknown
};
// Throws like open_parameters().
PackageShape shape_of_packages(const std::filesystem::path& source);

// Whether it is a package, or a folder of packages.
bool is_made_of_packages(const std::filesystem::path& source);

}  // namespace pippin::models
