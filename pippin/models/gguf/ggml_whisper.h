// A GGML file of whisper.cpp as the Hugging Face checkpoint of its model.
#pragma once

#include <string>

#include "pippin/io/checkpoint.h"
#include "pippin/io/ggml.h"

namespace pippin::models {

// Returns config.json. `start`: the token that a text begins with. Throws InvalidFile for sizes
// that contradict each other, naming the file.
std::string ggml_config(const GgmlContent& content, int64_t start, const std::string& name);

// Whether the files of a checkpoint are GGML.
bool is_ggml(const Checkpoint& checkpoint);

// The checkpoint with Hugging Face's names. Throws InvalidFile for a tensor of another model.
Checkpoint ggml_checkpoint(const Checkpoint& checkpoint);

}  // namespace pippin::models
