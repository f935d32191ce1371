// Prompts that end within the last message, so that the model goes on with it. As transformers'
// continue_final_message: a mark is added to the message, and the text is cut where it comes out.
#pragma once

#include <string>

#include "pippin/chat/value.h"

namespace pippin::chat {

// `messages` with the mark after the last message's text, which is its content or, of a content in
// parts, the last part with a text. Throws InvalidArgument where there is no such text.
Value marked_end(const Value* messages);

// `text` before the last mark; without the blanks before it where the template trims the message.
// Throws InvalidArgument where there is none: the template leaves the message out or changes it.
std::string cut_at_mark(std::string text);

}  // namespace pippin::chat
