// Properties and case mappings of code points, as in Python's str.
//
// Follows Python 3.11, that is Unicode 14. Characters of later versions follow utf8proc's Unicode.
#pragma once

#include <string>

namespace pippin::chat {

bool is_space(char32_t c);    // str.isspace
bool is_alpha(char32_t c);    // str.isalpha, and so on
bool is_decimal(char32_t c);  // 0 to 9 in any script
bool is_digit(char32_t c);    // in any form: ²
bool is_numeric(char32_t c);  // any numeric value: ½ Ⅷ 七
bool is_alnum(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);  // ǅ
bool is_cased(char32_t c);  // any of these three
bool is_printable(char32_t c);
// A mark within words, which is ignored when looking for the end of a word.
bool is_case_ignorable(char32_t c);

// One code point may become up to three: ß becomes SS.
void append_upper(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
// Except for Σ, which depends on its neighbours.
void append_lower(std::string& out, char32_t c);
void append_folded(std::string& out, char32_t c);

}  // namespace pippin::chat
