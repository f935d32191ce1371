// The vocabulary of wav2vec 2.0 and its kind: characters in vocab.json, whose meaning
// tokenizer_config.json states, as transformers' Wav2Vec2CTCTokenizer reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>

namespace pippin::speech {

class CtcVocabulary {
 public:
  // Whether a folder has a vocab.json that is a vocabulary of its own, not a part of one of byte
  // pairs.
  static bool is_in(const std::filesystem::path& folder);
  // Reads vocab.json, and where they exist added_tokens.json, special_tokens_map.json and
  // tokenizer_config.json. Of a vocab.json for several languages (MMS), `target_lang` selects one.
  // Throws InvalidFile, and Unsupported for another class of tokenizers.
  static CtcVocabulary read(const std::filesystem::path& folder);

  // Returns the text of a token: a space between words, and nothing for special tokens (padding,
  // which is CTC's blank, unknown characters, beginning and end) and ids without a token.
  std::string text(int32_t id) const;

 private:
  std::unordered_map<int32_t, std::string> texts_;
};

}  // namespace pippin::speech
