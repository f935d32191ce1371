// Messages of ollama's /api/chat.
#pragma once

#include "pippin/chat/value.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Converts messages to OpenAI's form (chat_messages.h): tool calls get ids, to which results that
// name their tools then refer, and `thinking` becomes reasoning_content. Throws ApiError(400), with
// the place, also for pictures.
chat::Value ollama_messages(const RequestFields& body);

}  // namespace pippin::server
