// How byte-level tokenizers in GGUF files cut words: tokenizer.ggml.pre names it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

struct GgufWords {
  std::vector<std::string_view> patterns;  // each cuts what those before it left
  bool digits = false;                     // each digit alone, before the patterns
  bool whole_words = false;  // a word that is a token is not merged from pieces, and texts begin
                             // with the first token where the file does not say
  bool composed = false;     // NFC
};

// Nothing for a name that is not known.
std::optional<GgufWords> gguf_words(std::string_view pre);

}  // namespace pippin::tokenizers
