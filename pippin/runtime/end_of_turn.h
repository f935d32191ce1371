// The tokens that end a turn, as the chat template writes them: the files that name end tokens
// often leave them out.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/chat/chat_template.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// The special token that follows an assistant's message, blanks between them aside. Nothing where
// the template writes none, or refuses a conversation of two messages.
std::optional<int32_t> end_of_turn(const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace pippin::runtime
