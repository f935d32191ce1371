// Characters and strings as expressions, either raw or as JSON writes them.
//
// In JSON strings, a character is written raw wherever possible; \" \\ \/ \b \f
//  \r \t are short forms; \uXXXX (two of them above U+FFFF) is allowed for control and non-ASCII
//  characters. So an ASCII letter has one spelling, and a string that is not in a set is in its
//  complement. Unpaired surrogates are not characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/constrain/regex_pool.h"
#include "pippin/tokenizers/unicode/code_points.h"

namespace pippin::constrain {

// Encoding of characters: UTF-8, or the content of a JSON string.
enum class Writing { Utf8, JsonString };

// Matches one character of the set.
RegexId character(RegexPool& pool, const tokenizers::CodePoints& set, Writing writing);
RegexId any_character(RegexPool& pool, Writing writing);
RegexId any_text(RegexPool& pool, Writing writing);
// Matches every spelling of `text`, which should be UTF-8; invalid bytes count as U+FFFD.
RegexId exact_text(RegexPool& pool, std::string_view text, Writing writing);

// The content of a JSON string: any, a given text, or a number of characters.
inline RegexId json_string_content(RegexPool& pool) {
  return any_text(pool, Writing::JsonString);
}
inline RegexId json_string_content(RegexPool& pool, std::string_view text) {
  return exact_text(pool, text, Writing::JsonString);
}
RegexId string_length(RegexPool& pool, uint64_t least, std::optional<uint64_t> most);
RegexId quoted(RegexPool& pool, RegexId content);

}  // namespace pippin::constrain
