// The tokenizer and the chat templates of what the commands call MODEL, without the model.
#pragma once

#include <filesystem>

#include "pippin/chat/template_sources.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

// Of a package, a folder of packages, a model's folder, or a tokenizer's folder or file. Throws
// NotFound, InvalidFile, Unsupported.
Tokenizer open_tokenizer(const std::filesystem::path& path);

// Of the same, or a file: a template, tokenizer_config.json or chat_template.json; of a pipe, a
// template. Throws NotFound, InvalidFile, LimitExceeded.
chat::TemplateSources read_template_sources(const std::filesystem::path& path);

}  // namespace pippin::app
