// Reads the tokenizer in a GGUF file's metadata, directly or as the files that Hugging Face's
// libraries write.
#pragma once

#include <string>
#include <vector>

#include "pippin/io/gguf.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

struct TextFile {
  std::string name, text;
};

// `name` starts error messages. Each function throws InvalidFile, naming the key; Unsupported for
// an unknown tokenizer, by name; LimitExceeded for tables of more than 256 MB.
JsonFile read_gguf_tokenizer(const GgufContent& content, const std::string& name);
// Returns an equivalent file for other libraries: SentencePiece's tokenizer.model for its BPE,
// tokenizer.json for the others.
TextFile gguf_tokenizer_file(const GgufContent& content, const std::string& name);
// Returns the small files next to it: tokenizer_config.json, generation_config.json and the
// template.
std::vector<TextFile> gguf_settings_files(const GgufContent& content, const std::string& name);

}  // namespace pippin::tokenizers
