// The poolings of sentence-transformers, as the configurations of their modules say them.
#pragma once

#include <filesystem>

#include "pippin/io/json.h"
#include "pippin/nn/attention/pooling.h"

namespace pippin::models {

// A module's config.json; messages name its folder too, as several files are called so.
Json module_config(const std::filesystem::path& folder);

struct SentencePooling {
  nn::PoolingOptions ways;
  bool pool_prompts = true;  // false: the tokens of a prompt are not pooled
};
// Throws Unsupported, naming it, for a way that is not known.
SentencePooling read_pooling(const std::filesystem::path& folder);

// Of SpladePooling. Throws likewise.
nn::SpladeOptions read_splade_pooling(const std::filesystem::path& folder);

}  // namespace pippin::models
