// Prompts that end within the last message, so that the model continues it. Like transformers'
// continue_final_message: a mark is added to the message, and the rendered text is cut at the mark.
#pragma once

#include <string>

#include "pippin/chat/value.h"

namespace pippin::chat {

// Returns `messages` with the mark after the last message's text: its content or, if the content
// has parts, the last part with text. Throws InvalidArgument if there is no such text.
Value marked_end(const Value* messages);

// Returns `text` before the last mark, without trailing blanks if the template trims messages.
// Throws InvalidArgument if the mark is missing because the template omits or changes the message.
std::string cut_at_mark(std::string text);

}  // namespace pippin::chat
