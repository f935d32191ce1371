// The generation settings in a model's folder.
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
  // All end tokens that generation_config.json, config.json or tokenizer_config.json name: chat
  // models end a turn with one and a text with another, and files often name only one of them.
  std::vector<int32_t> end_ids;
  // Hugging Face's defaults if generation_config.json sets do_sample; greedy otherwise. Either way
  // it includes suppress_tokens, begin_suppress_tokens, bad_words_ids, no_repeat_ngram_size,
  // min_new_tokens and min_length.
  SamplingOptions sampling;
  std::optional<int64_t> max_new_tokens;  // unless the caller gives another number
  std::vector<std::string> stop_strings;
};

// Missing files are ignored. Throws InvalidFile for invalid ones. Warns, by name, of settings that
// change the text and are not supported (beams, forced tokens ...).
GenerationConfig read_generation_config(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer);

}  // namespace pippin::runtime
