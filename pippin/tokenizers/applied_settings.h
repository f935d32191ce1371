// What tokenizer_config.json, added_tokens.json and special_tokens_map.json say next to a
// tokenizer.json, which transformers applies to it: the tokens that begin and end a text, and added
// tokens that the file lacks.
#pragma once

#include <filesystem>
#include <string_view>

#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

// Throws InvalidFile for files that are broken, and for a token at an end that is not known.
void apply_settings(JsonFile& file, const std::filesystem::path& folder, std::string_view name);

}  // namespace pippin::tokenizers
