// Messages as clients send them, in the form that chat templates take.
#pragma once

#include <string_view>

#include "pippin/chat/value.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Of OpenAI's chat endpoint: text in parts is joined by line ends, arguments of tool calls become
// objects, as transformers gives them to templates. Throws ApiError(400), with the place in
// `param`, for what is no list of messages, and for pictures, sound and files.
chat::Value openai_messages(const RequestFields& body);

// Of Anthropic's: `system` comes first, with the messages of that role at the front; thoughts,
// calls of tools and their results take OpenAI's form; the result of a call that failed has
// `is_error`. Throws the same.
chat::Value anthropic_messages(const RequestFields& body);

// With the role "system" for "developer", which older templates do not know.
chat::Value without_developer(const chat::Value& messages);

}  // namespace pippin::server
