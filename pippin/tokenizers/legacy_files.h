// Tokenizers from before tokenizer.json: GPT-2's vocab.json with merges.txt, and tiktoken's files.
//
// Neither says how text is split into words. For the first that follows from
// tokenizer_config.json's tokenizer_class (Qwen2 has its own words, all others are GPT-2's); for
// tiktoken from the number of ranks, which names the encoding: r50k, p50k, cl100k, o200k, Llama 3,
// Qwen.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

// What is read from tokenizer_config.json, special_tokens_map.json and added_tokens.json next to a
// tokenizer's file.
struct TokenizerSettings {
  std::string tokenizer_class;  // without "Fast"; empty where it is not said
  std::optional<bool> add_bos, add_eos, add_prefix_space, legacy;
  std::string bos_token, eos_token;  // empty where they are not said
  struct Added {
    int32_t id;
    std::string content;
    bool lstrip, rstrip, single_word, normalized, special;
  };
  std::vector<Added> added;
};
// Settings of a folder that has none of the files are empty.
TokenizerSettings read_tokenizer_settings(const std::filesystem::path& folder);

JsonFile read_vocab_and_merges(std::string_view vocab, std::string_view merges,
                               const TokenizerSettings& settings, std::string_view name);

// Lines of base64 and a rank.
bool looks_like_tiktoken(std::string_view bytes);
JsonFile read_tiktoken(std::string_view bytes, std::string_view name);

// The JSON of a pre_tokenizer: words that a pattern finds, then bytes as characters.
std::string byte_level_words(std::string_view pattern);

// Ends `root`, which is written up to here, with added_tokens, and makes it the file's. Tokens that
// the vocabulary lacks are added to it with their ids.
void finish_file(JsonFile& file, JsonWriter& root,
                 const std::vector<TokenizerSettings::Added>& tokens, std::string_view name);

// Every way to make a token of two shorter ones becomes a merge with the token's own rank: so BPE
// that looks at the joined text (SentencePiece, tiktoken) is BPE that looks at pairs. A token
// whose rank is kNoRank is never merged to. Throws LimitExceeded.
inline constexpr uint32_t kNoRank = UINT32_MAX;
void make_merges(JsonFile& file, const std::vector<uint32_t>& ranks, std::string_view name);

}  // namespace pippin::tokenizers
