// \X: an extended grapheme cluster (UAX 29).
#pragma once

#include <string>

namespace pippin::tokenizers {

// Returns a pattern for PCRE2. PCRE2's own \X joins adjacent emoji and separates flags from their
// modifiers (seen in 10.42). A match that begins inside a flag counts from there.
const std::string& cluster_pattern();

}  // namespace pippin::tokenizers
