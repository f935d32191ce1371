// A GGUF's tokenizer as its metadata has it, and as tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/gguf_metadata.h"
#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

struct GgufTokenizer {
  enum class Kind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

  GgufTokenizer() = default;
  GgufTokenizer(GgufTokenizer&&) = default;  // not copied: tokens may be views of its words
  GgufTokenizer& operator=(GgufTokenizer&&) = default;

  std::vector<std::string_view> tokens;
  std::vector<std::string> words;  // tokens in another form than the file's, if there is one
  std::vector<double> scores, kinds;
  std::optional<int64_t> bos, eos, unknown, pad;
  std::optional<int64_t> separator;  // what further stands between two texts
  std::optional<bool> add_bos, add_eos, add_prefix;
  bool two_types = false;  // the second of two texts has type 1

  Kind kind(size_t i) const;
};

// "tokenizer.ggml.NAME".
std::string gguf_tokenizer_key(std::string_view name);

// tokenizer.json as text; where `apart` is given, its tables are written there, the text has null
// for them. Each throws InvalidFile for metadata that is missing; Unsupported, by name, for words
// that are cut in a way that is not known.
std::string byte_level_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart);
// BERT's words: tokens have to be in its form (bert_words()).
std::string word_piece_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart);
// SentencePiece's Unigram.
std::string unigram_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                         JsonFile* apart);

// The format has "\u2581" before what begins a word; BERT has "##" before what does not.
std::vector<std::string> bert_words(const GgufTokenizer& tokenizer);

}  // namespace pippin::tokenizers
