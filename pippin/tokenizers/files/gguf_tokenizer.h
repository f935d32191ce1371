// The tokenizer metadata of a GGUF, and its conversion to tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/gguf_metadata.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

// The tokenizer.ggml.model of byte-pair encoding over text with U+2581 for spaces.
inline constexpr std::string_view kGemma4 = "gemma4";

struct GgufTokenizer {
  enum class Kind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

  GgufTokenizer() = default;
  GgufTokenizer(GgufTokenizer&&) = default;  // not copied: tokens may be views of its words
  GgufTokenizer& operator=(GgufTokenizer&&) = default;

  std::vector<std::string_view> tokens;
  std::vector<std::string> words;  // converted tokens, if their form differs from the file's
  std::vector<double> scores, kinds;
  std::optional<int64_t> bos, eos, unknown, pad;
  std::optional<int64_t> separator;  // additional separator between two texts
  std::optional<bool> add_bos, add_eos, add_prefix;
  bool two_types = false;  // the second text of a pair has type 1

  Kind kind(size_t i) const;
};

// "tokenizer.ggml.NAME".
std::string gguf_tokenizer_key(std::string_view name);

// Return tokenizer.json as text. If `apart` is given, the tables are written to it and the text has
// null in their place. Each throws InvalidFile if metadata is missing; Unsupported, by name, for an
// unknown way to split words.
std::string byte_level_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart);
// For BERT; the tokens must be in its form (bert_words()).
std::string word_piece_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart);
// For SentencePiece's Unigram.
std::string unigram_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                         JsonFile* apart);

// Converts tokens: GGUF puts "\u2581" before tokens that begin a word; BERT puts "##" before the
// others.
std::vector<std::string> bert_words(const GgufTokenizer& tokenizer);

}  // namespace pippin::tokenizers
