// A GGUF's model as the Hugging Face checkpoint that it was made from: its configuration from the
// metadata (gguf_architectures.h), its tensors under the names that the model's description gives
// them (gguf_names.h). Where the format stores a matrix or a norm in another way, the description
// is changed to that (gguf_layout.h); what it computed of a tensor is undone.
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
// Likewise: the names of modules that blocks have, and whether rows of queries and keys are stored
// in neighbouring pairs, if not as the architecture has them.
inline constexpr std::string_view kGgufModules = "gguf_modules";
inline constexpr std::string_view kGgufPairs = "gguf_pairs";

// config.json; `name` starts error messages. Throws Unsupported for an architecture that is not
// known, InvalidFile for metadata that is missing, no size, or contradicts the tensors.
std::string gguf_config(const GgufContent& content, const std::string& name);

// Whether the files of a checkpoint are GGUF.
bool is_gguf(const Checkpoint& checkpoint);

// The checkpoint with Hugging Face's names, by a configuration that gguf_config() made.
Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const Json& config);

// Adapts a described model to the tensors of such a checkpoint; does nothing for another
// configuration.
void apply_gguf(const Config& config, nn::DecoderOptions& model);
void apply_gguf(const Config& config, EncoderDescription& model);

}  // namespace pippin::models
