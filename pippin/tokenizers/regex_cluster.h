// \X: an extended grapheme cluster (UAX 29).
#pragma once

#include <string>

namespace pippin::tokenizers {

// For PCRE2, whose own \X takes emoji that stand side by side for one and parts flags from what
// belongs to them (seen in 10.42). A match that begins inside of a flag counts from there.
const std::string& cluster_pattern();

}  // namespace pippin::tokenizers
