// Applies tokenizer_config.json, added_tokens.json and special_tokens_map.json to the
// tokenizer.json next to them, as transformers does: they set the tokens that begin and end a text,
// and add tokens that the file lacks.
#pragma once

#include <filesystem>
#include <string_view>

#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

// Throws InvalidFile if a file is broken, or if a token at an end is unknown.
void apply_settings(JsonFile& file, const std::filesystem::path& folder, std::string_view name);

}  // namespace pippin::tokenizers
