// Shared by architectures with state spaces: the keys of Mamba's and of the hybrids'
// configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// Equal layers of only a mixer, with Mamba's names; the caller sets the mixer. Such a model has no
// limit of the length.
nn::DecoderOptions state_space_decoder(const Config& config, Defaults defaults);

// hidden_size times a factor, a whole number.
int64_t expanded(const Config& config, std::string_view key, int64_t hidden_size, double factor);
// A number, or the value that "auto" means.
int64_t size_or_auto(const Config& config, std::string_view key, int64_t automatic);
// Taps of a causal convolution; Unsupported for a single one, which would keep nothing.
int64_t convolution_length(const Config& config, std::string_view key, int64_t fallback = 4);
// time_step_limit, two numbers or null.
void limit_steps(const Config& config, nn::Mamba2Options& mamba);

// The state space of a hybrid whose keys begin with "mamba_" (Bamba, Falcon-H1, Granite 4).
nn::Mamba2Options hybrid_mamba(const Config& config, const nn::DecoderOptions& model,
                               std::optional<int64_t> inner = std::nullopt);

// One of two names for each layer, true for the second. "mamba" and "attention" are also called
// "linear_attention" and "full_attention", as transformers 5 writes them.
std::vector<bool> layer_kinds(const Config& config, std::string_view key, size_t num_layers,
                              std::string_view first, std::string_view second);
// The same of layers_block_type or layer_types, whichever there is: true for attention; nothing
// where there is neither.
std::optional<std::vector<bool>> attention_kinds(const Config& config, size_t num_layers);

}  // namespace pippin::models
