// A GGUF's model as the Hugging Face checkpoint that it was made from: its configuration from the
// metadata, its tensors under the original names. Changes of the format are undone on reading:
// Llama's rows of queries and keys, in pairs; Gemma's norms, which were increased by one.
#pragma once

#include <string>

#include "pippin/io/checkpoint.h"
#include "pippin/io/gguf.h"
#include "pippin/models/config/config.h"
#include "pippin/models/encoders.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// In a configuration made by gguf_config(): the format's name of the architecture.
inline constexpr std::string_view kGgufKey = "gguf_architecture";

// config.json; `name` starts error messages. Throws Unsupported for an unknown architecture,
// InvalidFile for missing metadata or invalid sizes.
std::string gguf_config(const GgufContent& content, const std::string& name);

// Whether the files of a checkpoint are GGUF.
bool is_gguf(const Checkpoint& checkpoint);

// The checkpoint with Hugging Face's names.
Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const std::string& architecture);

// Adapts a described model to the tensors of such a checkpoint; does nothing for another
// configuration.
void apply_gguf(const Config& config, nn::DecoderOptions& model);
void apply_gguf(const Config& config, EncoderDescription& model);

}  // namespace pippin::models
