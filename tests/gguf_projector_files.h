// Files of vision towers, mmproj-*.gguf, as llama.cpp's converter writes them, made of Hugging Face
// folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/io/json.h"
#include "tests/gguf_testing.h"

namespace pippin::testing_gguf {

struct ProjectorForm {
  bool quantized = false;  // matrices in Q8_0 in place of F32
  bool swapped = false;    // older files' names of the matrices of feed-forwards
  // Leading axes of 1 are kept, as the converter writes them; llama.cpp's own tools drop them.
  bool whole_shapes = false;
  std::string without = {};    // the file's name of a tensor that is left out
  std::string shortened = {};  // of one that lacks the last row of its first axis of several
};

// The tower of a folder, whose projector has that type: its tensors, and the metadata that all
// towers have.
GgufFile projector_file(const std::filesystem::path& folder, const std::string& type,
                        const ProjectorForm& form = {});

// A folder of the tower alone: the file, and the configurations that are made of its metadata for a
// language model with the configuration `text`.
void write_tower_folder(const std::filesystem::path& dir, const std::string& text,
                        const GgufFile& file, const GgufFile& language = {});

// The language model of a folder's configuration, as its GGUF describes it.
std::string language_config(const Json& config, const std::string& architecture);

// The language model of a folder, below "model.", with these tokens, of which those in angle
// brackets are special: the metadata and tensors that "llama", "paddleocr" and "deepseek2-ocr"
// have.
GgufFile language_file(const std::filesystem::path& folder, const std::vector<std::string>& tokens,
                       const std::string& architecture = "llama");

}  // namespace pippin::testing_gguf
