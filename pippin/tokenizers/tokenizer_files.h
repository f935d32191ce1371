// Tokenizers as files and folders: which file of a folder to read, and how, by its content.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

// The file itself, or the one of a folder that holds its tokenizer. Nothing for a folder without;
// throws NotFound for a path that is not there.
std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& path);

// "tokenizer.json, tokenizer.model, ...": what that looks for.
std::string tokenizer_file_names();

// As the tokenizer.json that the file stands for. Throws InvalidFile, Unsupported, LimitExceeded.
JsonFile read_tokenizer_file(const std::filesystem::path& path);

}  // namespace pippin::tokenizers
