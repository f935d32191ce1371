// Messages of ollama's /api/chat.
#pragma once

#include <string>

#include "pippin/server/message_images.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Converts messages to OpenAI's form (chat_messages.h): tool calls get ids, to which results that
// name their tools then refer, `thinking` becomes reasoning_content, and a message's images come
// before its text. Throws ApiError(400), with the place.
ChatInput ollama_messages(const RequestFields& body);

// Returns the messages of /api/generate: the field `system`, and the prompt with the field
// `images`.
ChatInput ollama_prompt(const RequestFields& body, const std::string& prompt);

}  // namespace pippin::server
