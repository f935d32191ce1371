// Translates tokenizer.json's patterns from Oniguruma's syntax to PCRE2's. docs/text.md lists the
// syntax that is translated and the syntax that is rejected.
#pragma once

#include <string>
#include <string_view>

namespace pippin::tokenizers {

// Returns the same pattern in PCRE2's syntax (for UTF, UCP and MULTILINE). Throws Unsupported, with
// `place`, for a construct that has another meaning in PCRE2 and cannot be translated.
std::string to_pcre2(std::string_view pattern, std::string_view place);

}  // namespace pippin::tokenizers
