// The tokenizer and the chat templates of the commands' MODEL, without the model.
#pragma once

#include <filesystem>

#include "pippin/chat/template_sources.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

// Opens the tokenizer of a package, a folder of packages, a model's folder, or a tokenizer's folder
// or file. Throws NotFound, InvalidFile, Unsupported.
Tokenizer open_tokenizer(const std::filesystem::path& path);

// Reads the templates of the same, or from a file: a template, tokenizer_config.json or
// chat_template.json; a pipe must contain a template. Throws NotFound, InvalidFile, LimitExceeded.
chat::TemplateSources read_template_sources(const std::filesystem::path& path);

}  // namespace pippin::app
