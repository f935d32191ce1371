// The text files of a GGML file of whisper.cpp: config.json, generation_config.json,
// preprocessor_config.json and tokenizer.json, generated from its sizes, filters and vocabulary;
// and the Core ML package of its encoder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/io/ggml.h"
#include "pippin/tokenizers/files/gguf_file.h"

namespace pippin::app {

// `name` starts error messages. Throws InvalidFile, and Unsupported for a vocabulary that is not
// one of Whisper's.
std::vector<tokenizers::TextFile> ggml_files(const GgmlContent& content, const std::string& name);

// The package that whisper.cpp uses in place of the encoder of a file: ggml-NAME-encoder.mlmodelc
// (or .mlpackage) next to ggml-NAME.bin or a quantized ggml-NAME-q5_0.bin. Empty if none exists.
std::filesystem::path ggml_encoder(const std::filesystem::path& file);

}  // namespace pippin::app
