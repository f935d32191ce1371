// A GGUF's model as the Hugging Face checkpoint that it was made from: its configuration from the
// metadata, its tensors under the names that they had. What the format has in another way is undone
// when they are read: Llama's rows of queries and keys, in pairs; Gemma's norms, one more than they
// were.
#pragma once

#include <string>

#include "pippin/io/checkpoint.h"
#include "pippin/io/gguf.h"
#include "pippin/models/config/config.h"
#include "pippin/models/encoders.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// In a configuration that gguf_config() made: the format's name of the architecture.
inline constexpr std::string_view kGgufKey = "gguf_architecture";

// config.json; `name` starts error messages. Throws Unsupported for an architecture that is not
// known, InvalidFile for metadata that is missing or no size.
std::string gguf_config(const GgufContent& content, const std::string& name);

// Whether the files of a checkpoint are GGUF.
bool is_gguf(const Checkpoint& checkpoint);

// The checkpoint with Hugging Face's names.
Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const std::string& architecture);

// What a described model needs that reads such a checkpoint; nothing for another configuration.
void apply_gguf(const Config& config, nn::DecoderOptions& model);
void apply_gguf(const Config& config, EncoderDescription& model);

}  // namespace pippin::models
