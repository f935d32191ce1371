// A one-page summary of a GGUF or a GGML file, from its headers alone: its architecture and
// hyperparameters, its tokenizer, its tensors by type with the forms in which they run. Text for
// people, JSON for programs.
#pragma once

#include <filesystem>
#include <string>

namespace pippin::app {

// Covers all parts of the file's model; if it cannot run, a line gives the reason. Throws as
// parse_gguf().
std::string gguf_summary_text(const std::filesystem::path& file);
std::string gguf_summary_json(const std::filesystem::path& file);

}  // namespace pippin::app
