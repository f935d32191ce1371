// Words of text tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/tokenizer.h"

namespace pippin::speech {

struct TokenWord {
  std::string text;  // with the space before it; empty: merged into a neighbour
  std::vector<int32_t> tokens;
  double start = 0, end = 0;  // seconds from the start of the window
  double probability = 0;
};

// Splits text tokens into words: at spaces and punctuation or, for languages without spaces, into
// the smallest groups of tokens that are whole characters.
std::vector<TokenWord> split_words(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                   std::string_view language);

// Appends words that are one of the punctuation marks `prepended` to the word after them, and
// `appended` ones to the word before them. The merged words stay, empty, without tokens.
void merge_punctuation(std::vector<TokenWord>& words, std::string_view prepended,
                       std::string_view appended);

}  // namespace pippin::speech
