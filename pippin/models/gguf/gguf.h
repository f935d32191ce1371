// A GGUF file as the Hugging Face checkpoint that it was converted from. Its metadata gives the
// configuration (gguf_architectures.h), the model's description the names of tensors
// (gguf_names.h). Where the format stores a matrix or a norm in another way, the description is
// adapted to it (gguf_layout.h). Values that the converter has transformed are restored.
#pragma once

#include <string>

#include "pippin/io/checkpoint.h"
#include "pippin/io/gguf.h"
#include "pippin/models/config/config.h"
#include "pippin/models/encoders.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// A key in configurations made by gguf_config(): the format's name of the architecture.
inline constexpr std::string_view kGgufKey = "gguf_architecture";
// Likewise: the names of the blocks' modules; and whether rows of queries and keys are stored in
// neighbouring pairs, if that differs from the architecture's default.
inline constexpr std::string_view kGgufModules = "gguf_modules";
inline constexpr std::string_view kGgufPairs = "gguf_pairs";
// Likewise: four numbers for each layer, alpha_p, alpha_n, beta and eps of xIELU.
inline constexpr std::string_view kGgufXielu = "gguf_xielu";
// Likewise: the function of the scores of experts, by llama.cpp's number.
inline constexpr std::string_view kGgufGating = "gguf_gating";
// Likewise: the file and the key of that number, for messages.
inline constexpr std::string_view kGgufGatingKey = "gguf_gating_key";
// Likewise: the number of rows of the head that scores.
inline constexpr std::string_view kGgufScores = "gguf_scores";

// config.json; `name` starts error messages. Throws Unsupported for an unknown architecture,
// InvalidFile for metadata that is missing, is not a valid size, or contradicts the tensors.
std::string gguf_config(const GgufContent& content, const std::string& name);

// Whether the files of a checkpoint are GGUF.
bool is_gguf(const Checkpoint& checkpoint);

// The checkpoint with Hugging Face's names, for a configuration made by gguf_config().
Checkpoint gguf_checkpoint(const Checkpoint& checkpoint, const Json& config);

// Adapts a described model to the tensors of such a checkpoint; does nothing for another
// configuration.
void apply_gguf(const Config& config, nn::DecoderOptions& model);
void apply_gguf(const Config& config, EncoderDescription& model);
// Gives a decoder the head that scores in place of that of tokens, if such a configuration has one.
void use_gguf_scores(const Config& config, nn::DecoderOptions& model);

}  // namespace pippin::models
