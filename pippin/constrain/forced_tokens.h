// The tokens of the text that has to come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/constrain/constraint.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::constrain {

// Where only one text can follow, the tokens that the tokenizer makes of it behind the tokens
// `before` (the last ones of the text so far), as long as none of them could be part of a longer
// one: of the text "name" that a quote or an s may follow the end stays open. None where there is
// a choice, or where the tokenizer sees the text in another way. At most `most`.
std::vector<int32_t> forced_tokens(Constraint& constraint, StateId state,
                                   const Tokenizer& tokenizer, std::span<const int32_t> before,
                                   size_t most);

}  // namespace pippin::constrain
