// Parses an answer in a conversation: thoughts, content and calls of tools, in the format of the
// model's chat template.
#pragma once

#include <string>
#include <string_view>

#include "pippin/answer/answer_part.h"
#include "pippin/app/conversation.h"
#include "pippin/chat/chat_template.h"

namespace pippin::app {

// Throws Unsupported if the conversation has tools and the template does not show how its model
// calls them; also throws the template's errors.
answer::Answer read_answer(const ChatTemplate& chat, const Conversation& conversation,
                           std::string_view text);

// {"content": ..., "reasoning_content": ..., "tool_calls": [{"id", "name", "arguments"}]}
std::string to_json(const answer::Answer& answer);

}  // namespace pippin::app
