// Messages of ollama's /api/chat.
#pragma once

#include "pippin/chat/value.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// In OpenAI's form (chat_messages.h): calls of tools get ids, which the results that name their
// tools refer to, and `thinking` becomes reasoning_content. Throws ApiError(400), with the place,
// also for pictures.
chat::Value ollama_messages(const RequestFields& body);

}  // namespace pippin::server
