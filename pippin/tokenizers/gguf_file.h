// The tokenizer of a GGUF file, from the file's metadata: read as it is, and as the files that
// Hugging Face's libraries write.
#pragma once

#include <string>
#include <vector>

#include "pippin/io/gguf.h"
#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

struct TextFile {
  std::string name, text;
};

// `name` starts error messages. Each throws InvalidFile, naming the key; Unsupported for a
// tokenizer that is not known, by name; LimitExceeded for tables of more than 256 MB.
JsonFile read_gguf_tokenizer(const GgufContent& content, const std::string& name);
// What the same is read from elsewhere: SentencePiece's tokenizer.model of its BPE, tokenizer.json
// of the others.
TextFile gguf_tokenizer_file(const GgufContent& content, const std::string& name);
// What lies beside it, all small: tokenizer_config.json, generation_config.json and the template.
std::vector<TextFile> gguf_settings_files(const GgufContent& content, const std::string& name);

}  // namespace pippin::tokenizers
