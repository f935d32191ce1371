// Unicode for the stages: character classes, normal forms, repair of broken UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

bool is_whitespace(char32_t c);       // White_Space
bool is_numeric(char32_t c);          // categories Nd, Nl, No
bool is_punctuation(char32_t c);      // ASCII punctuation and symbols, and categories P*
bool is_mark(char32_t c);             // categories M*
bool is_nonspacing_mark(char32_t c);  // category Mn
bool is_other(char32_t c);            // control, format, private use
bool is_word(char32_t c);             // \w: letters, marks, decimal digits, connectors, joiners

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
// `text` is valid UTF-8.
std::string normal_form(std::string_view text, NormalForm form);
std::string lowercase(std::string_view text);

// Returns the start of the last code point that starts before `end`, for walking backwards.
size_t previous_character(std::string_view text, size_t end);

// Returns the end of the extended grapheme cluster (UAX 29) that begins at `begin`.
size_t grapheme_end(std::string_view text, size_t begin);

// Appends `bytes` with U+FFFD for every maximal truncated or invalid sequence, like Rust's
// from_utf8_lossy. Unless `final`, an unfinished character at the end is not consumed. Returns the
// number of bytes consumed.
size_t append_utf8_lossy(std::string& out, std::string_view bytes, bool final);

}  // namespace pippin::tokenizers
