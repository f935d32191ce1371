// A GGUF file as a Hugging Face folder: config.json, generation_config.json, tokenizer_config.json
// and the chat template, generated from its metadata, and a link to the file itself, which is
// mapped in place and contains the tokenizer's tables. A GGML file of whisper.cpp likewise, with
// its tokenizer.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/io/gguf.h"
#include "pippin/tokenizers/files/gguf_file.h"

namespace pippin::app {

// The GGUF or GGML file for a path: the path itself, or the only one of a folder without packages
// and weights of other kinds; the file may be one of several parts. Nullopt for any other path.
// Files of vision towers (mmproj*) do not count. Throws InvalidArgument, listing them, for a folder
// with several models.
std::optional<std::filesystem::path> find_gguf(const std::filesystem::path& path);

// The files of vision towers next to it, sorted by name.
std::vector<std::filesystem::path> find_projectors(const std::filesystem::path& file);

// All parts of that file's model, or just the file if it is complete.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file);

// The folder for that file's model, created on first use and removed when the process ends; with
// the vision tower of `projector`, if given (models/gguf/gguf_projector.h), and its image
// processor. Throws InvalidFile, Unsupported (naming an unknown architecture, tokenizer or
// projector).
std::filesystem::path gguf_folder(const std::filesystem::path& file,
                                  const std::filesystem::path& projector = {});
// The same with tokenizer.json or tokenizer.model, for callers that copy files from there.
std::filesystem::path gguf_folder_with_tokenizer(const std::filesystem::path& file,
                                                 const std::filesystem::path& projector = {});

using tokenizers::TextFile;
// The files of sentence-transformers for an embedding model: its pooling, then normalization to
// length 1, as the format's own programs do; mean pooling if an encoder does not specify it. For a
// decoder that scores pairs, its head and its template for them, which replaces that of chats.
// Throws Unsupported for an unknown pooling.
std::vector<TextFile> gguf_sentence_files(const GgufContent& content, const std::string& name);

}  // namespace pippin::app
