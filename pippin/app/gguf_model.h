// A GGUF file as a Hugging Face folder: config.json, generation_config.json, tokenizer_config.json
// and the chat template as its metadata says them, and a link to the file itself, which is mapped
// where it lies and has the tokenizer's tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/io/gguf.h"
#include "pippin/tokenizers/gguf_file.h"

namespace pippin::app {

// The file that is meant: the path itself, or the only *.gguf of a folder without weights of other
// kinds and packages, which may be one of several parts. Nothing for any other path. Throws
// InvalidArgument, naming them, for a folder with several models.
std::optional<std::filesystem::path> find_gguf(const std::filesystem::path& path);

// All parts of that file's model, the file itself where it is whole.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file);

// The folder of that file's model, made when it is first asked for and gone when the process ends.
// Throws InvalidFile, Unsupported (an architecture or a tokenizer that is not known, by name).
std::filesystem::path gguf_folder(const std::filesystem::path& file);
// The same with tokenizer.json or tokenizer.model, for who takes files from there.
std::filesystem::path gguf_folder_with_tokenizer(const std::filesystem::path& file);

using tokenizers::TextFile;
// Those of sentence-transformers, for a model that embeds: its pooling, then length 1, as the
// format's own programs give embeddings; a mean where an encoder says no pooling. Throws
// Unsupported for a pooling that is not known.
std::vector<TextFile> gguf_sentence_files(const GgufContent& content, const std::string& name);

}  // namespace pippin::app
