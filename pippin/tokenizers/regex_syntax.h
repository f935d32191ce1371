// Patterns in tokenizer.json are written for Oniguruma; PCRE2 runs them here. docs/text.md says
// which syntax is translated and which is refused.
#pragma once

#include <string>
#include <string_view>

namespace pippin::tokenizers {

// The same pattern in PCRE2's syntax (for UTF, UCP and MULTILINE). Throws Unsupported, with
// `place`, for a construct that means something else there and has no translation.
std::string to_pcre2(std::string_view pattern, std::string_view place);

}  // namespace pippin::tokenizers
