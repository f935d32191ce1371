// Pooling options of sentence-transformers, read from the configurations of their modules.
#pragma once

#include <filesystem>

#include "pippin/io/json.h"
#include "pippin/nn/attention/pooling.h"

namespace pippin::models {

// A module's config.json. Messages include its folder, since several files have this name.
Json module_config(const std::filesystem::path& folder);

struct SentencePooling {
  nn::PoolingOptions ways;
  bool pool_prompts = true;  // false: the tokens of a prompt are not pooled
};
// Throws Unsupported for an unknown pooling mode, with its name.
SentencePooling read_pooling(const std::filesystem::path& folder);

// Reads the options of SpladePooling. Throws likewise.
nn::SpladeOptions read_splade_pooling(const std::filesystem::path& folder);

}  // namespace pippin::models
