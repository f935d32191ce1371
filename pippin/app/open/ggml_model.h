// The text files of a GGML file of whisper.cpp: config.json, generation_config.json,
// preprocessor_config.json and tokenizer.json, generated from its sizes, filters and vocabulary.
#pragma once

#include <string>
#include <vector>

#include "pippin/io/ggml.h"
#include "pippin/tokenizers/files/gguf_file.h"

namespace pippin::app {

// `name` starts error messages. Throws InvalidFile, and Unsupported for a vocabulary that is not
// one of Whisper's.
std::vector<tokenizers::TextFile> ggml_files(const GgmlContent& content, const std::string& name);

}  // namespace pippin::app
