// What a model's folder says about generating with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "pippin/runtime/sampling/options.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

struct GenerationConfig {
  // Every end token that generation_config.json, config.json or tokenizer_config.json names: chat
  // models end their turn with one and a text with another, and the files often name one each.
  std::vector<int32_t> end_ids;
  // With Hugging Face's defaults where generation_config.json says do_sample; greedy otherwise.
  SamplingOptions sampling;
};

// Files that are absent say nothing. Throws InvalidFile for those that are broken.
GenerationConfig read_generation_config(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer);

}  // namespace pippin::runtime
