// Tokenizers older than tokenizer.json: GPT-2's vocab.json with merges.txt, and tiktoken's files.
//
// Neither format says how text is split into words. For the first, tokenizer_class in
// tokenizer_config.json decides (Qwen2 has its own words, all others use GPT-2's). For tiktoken,
// the number of ranks identifies the encoding: r50k, p50k, cl100k, o200k, Llama 3, Qwen.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

// Settings from tokenizer_config.json, special_tokens_map.json and added_tokens.json next to a
// tokenizer's file.
struct TokenizerSettings {
  std::string tokenizer_class;  // without "Fast"; empty if not given
  std::optional<bool> add_bos, add_eos, add_prefix_space, legacy;
  std::string bos_token, eos_token;  // empty if not given
  struct Added {
    int32_t id;
    std::string content;
    bool lstrip, rstrip, single_word, normalized, special;
  };
  std::vector<Added> added;
};
// Returns empty settings if the folder has none of the files.
TokenizerSettings read_tokenizer_settings(const std::filesystem::path& folder);

JsonFile read_vocab_and_merges(std::string_view vocab, std::string_view merges,
                               const TokenizerSettings& settings, std::string_view name);

// Returns whether the file has lines of a base64 token and a rank.
bool looks_like_tiktoken(std::string_view bytes);
JsonFile read_tiktoken(std::string_view bytes, std::string_view name);

// Returns the JSON of a pre_tokenizer that splits words with a pattern, then encodes bytes as
// characters.
std::string byte_level_words(std::string_view pattern);

// Completes `root`, which is written up to here, with added_tokens, and stores it in the file.
// Tokens that the vocabulary lacks are added to it with their ids.
void finish_file(JsonFile& file, JsonWriter& root,
                 const std::vector<TokenizerSettings::Added>& tokens, std::string_view name);

// Adds a merge, with the token's own rank, for every way to make a token from two shorter ones.
// This turns BPE that ranks the joined text (SentencePiece, tiktoken) into BPE that ranks pairs. A
// token with rank kNoRank gets no merges. Throws LimitExceeded.
inline constexpr uint32_t kNoRank = UINT32_MAX;
void make_merges(JsonFile& file, const std::vector<uint32_t>& ranks, std::string_view name);

}  // namespace pippin::tokenizers
