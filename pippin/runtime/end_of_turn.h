// Finds the token that ends a turn in the chat template: files that list end tokens often omit it.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/chat/chat_template.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// The special token after an assistant's message, ignoring blanks between them. Empty if the
// template writes none or rejects a conversation of two messages.
std::optional<int32_t> end_of_turn(const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace pippin::runtime
