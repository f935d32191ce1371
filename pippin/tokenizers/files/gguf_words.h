// Word splitting of byte-level tokenizers in GGUF files, named by tokenizer.ggml.pre.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

struct GgufWords {
  std::vector<std::string_view> patterns;  // each splits the rest that the previous ones left
  bool digits = false;                     // isolate each digit before the patterns
  bool whole_words = false;  // a word that is a token is not merged from pieces; texts begin with
                             // the first token by default
  bool composed = false;     // NFC
};

// Returns nullopt for an unknown name.
std::optional<GgufWords> gguf_words(std::string_view pre);

}  // namespace pippin::tokenizers
