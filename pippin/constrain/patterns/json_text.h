// Characters and strings as expressions, as they are and as JSON writes them.
//
// In JSON strings a character stands as it is wherever it may; \" \\ \/ \b \f \n \r \t are the
// short forms; \uXXXX (two of them beyond U+FFFF) is for control characters and for what is not
// ASCII. So no letter of a key can be disguised, and what is not in a set of strings is in its
// complement. Surrogates without their other half are no characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/constrain/regex_pool.h"
#include "pippin/tokenizers/code_points.h"

namespace pippin::constrain {

// How characters become bytes: UTF-8, or as they stand between the quotes of a JSON string.
enum class Writing { Utf8, JsonString };

// One character of the set.
RegexId character(RegexPool& pool, const tokenizers::CodePoints& set, Writing writing);
RegexId any_character(RegexPool& pool, Writing writing);
RegexId any_text(RegexPool& pool, Writing writing);
// Every way to write a text, which is UTF-8; bytes that are not count as U+FFFD.
RegexId exact_text(RegexPool& pool, std::string_view text, Writing writing);

// Between the quotes of a JSON string: everything, a text, as many characters.
inline RegexId json_string_content(RegexPool& pool) {
  return any_text(pool, Writing::JsonString);
}
inline RegexId json_string_content(RegexPool& pool, std::string_view text) {
  return exact_text(pool, text, Writing::JsonString);
}
RegexId string_length(RegexPool& pool, uint64_t least, std::optional<uint64_t> most);
RegexId quoted(RegexPool& pool, RegexId content);

}  // namespace pippin::constrain
