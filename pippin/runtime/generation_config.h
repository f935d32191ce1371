// What a model's folder says about generating with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/runtime/sampling/options.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

struct GenerationConfig {
  // Every end token that generation_config.json, config.json or tokenizer_config.json names: chat
  // models end their turn with one and a text with another, and the files often name one each.
  std::vector<int32_t> end_ids;
  // With Hugging Face's defaults where generation_config.json says do_sample; greedy otherwise.
  // What it rules out holds for both: suppress_tokens, begin_suppress_tokens, bad_words_ids,
  // no_repeat_ngram_size, min_new_tokens, min_length.
  SamplingOptions sampling;
  std::optional<int64_t> max_new_tokens;  // where the caller says no other number
  std::vector<std::string> stop_strings;
};

// Files that are absent say nothing. Throws InvalidFile for those that are broken. Warns of
// settings that change the text and are not applied (beams, forced tokens ...), by name.
GenerationConfig read_generation_config(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer);

}  // namespace pippin::runtime
