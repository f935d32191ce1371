// Files of vision towers, mmproj-*.gguf, as llama.cpp's converter writes them, made of Hugging Face
// folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/gguf_testing.h"

namespace pippin::testing_gguf {

struct ProjectorForm {
  bool quantized = false;  // matrices in Q8_0 in place of F32
  bool swapped = false;    // older files' names of the matrices of feed-forwards
};

// The tower of a folder, whose projector has that type: its tensors, and the metadata that all
// towers have.
GgufFile projector_file(const std::filesystem::path& folder, const std::string& type,
                        const ProjectorForm& form = {});

// The language model of a folder, a Llama under "model.", with these tokens, of which those in
// angle brackets are special.
GgufFile language_file(const std::filesystem::path& folder, const std::vector<std::string>& tokens);

}  // namespace pippin::testing_gguf
