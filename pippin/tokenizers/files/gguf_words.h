// Word splitting of byte-level tokenizers in GGUF files, named by tokenizer.ggml.pre.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pippin::tokenizers {

struct GgufWords {
  std::vector<std::string_view> patterns;  // each splits the rest that the previous ones left
  bool digits = false;                     // isolate each digit before the patterns
  bool whole_words = false;                // a word that is a token is not merged from pieces
  bool begins = false;                     // texts begin with the first token by default
  bool composed = false;                   // NFC
  // Tokens are text instead of GPT-2's letters for bytes: spaces are U+2581, other unknown bytes
  // are tokens like <0x0A>.
  bool plain_text = false;
  bool spaces = false;  // with plain_text: spaces stay spaces, and texts may be lowercased
};

// Returns nullopt for an unknown name.
std::optional<GgufWords> gguf_words(std::string_view pre);

}  // namespace pippin::tokenizers
