// What Python's str says of a code point, and the letters that it makes of it.
//
// As Python 3.11, so of Unicode 14, for what that has; what later versions added is as utf8proc's
// Unicode says.
#pragma once

#include <string>

namespace pippin::chat {

bool is_space(char32_t c);    // str.isspace
bool is_alpha(char32_t c);    // str.isalpha, and so on
bool is_decimal(char32_t c);  // 0 to 9 of any script
bool is_digit(char32_t c);    // and of any form: ²
bool is_numeric(char32_t c);  // and of any value: ½ Ⅷ 七
bool is_alnum(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);  // ǅ, which begins a word
bool is_cased(char32_t c);  // any of the three
bool is_printable(char32_t c);
// A mark within words, which does not tell where they end.
bool is_case_ignorable(char32_t c);

// One code point can become three: ß is SS.
void append_upper(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
// Except for Σ, which depends on its neighbours.
void append_lower(std::string& out, char32_t c);
void append_folded(std::string& out, char32_t c);

}  // namespace pippin::chat
