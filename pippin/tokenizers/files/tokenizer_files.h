// Finds the tokenizer file of a folder, and reads it by its content.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

// Returns the path itself if it is a file, else the tokenizer file of the folder; nothing if the
// folder has none. Throws NotFound if the path does not exist.
std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& path);

// Returns the names that it looks for: "tokenizer.json, tokenizer.model, ...".
std::string tokenizer_file_names();

// Reads a file as the equivalent tokenizer.json. Throws InvalidFile, Unsupported, LimitExceeded.
JsonFile read_tokenizer_file(const std::filesystem::path& path);

}  // namespace pippin::tokenizers
