// What a GGUF is, in a page: its architecture and hyperparameters, its tokenizer, its tensors by
// type with the forms that they run in, from its headers alone. Text for people, JSON for programs.
#pragma once

#include <filesystem>
#include <string>

namespace pippin::app {

// Of all parts of the file's model; what keeps it from being run is a line of the page. Throws as
// parse_gguf().
std::string gguf_summary_text(const std::filesystem::path& file);
std::string gguf_summary_json(const std::filesystem::path& file);

}  // namespace pippin::app
