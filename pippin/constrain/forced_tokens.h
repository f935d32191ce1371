// Tokens of the text that must come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/constrain/constraint.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::constrain {

// If only one text can follow, returns at most `most` tokens that the tokenizer makes of it after
// the tokens `before` (the last ones of the text so far), up to the first token that could be part
// of a longer one: if "name" may be followed by a quote or an s, its end stays open. Returns no
// tokens if there is a choice, or if the tokenizer splits the text differently.
std::vector<int32_t> forced_tokens(Constraint& constraint, StateId state,
                                   const Tokenizer& tokenizer, std::span<const int32_t> before,
                                   size_t most);

}  // namespace pippin::constrain
