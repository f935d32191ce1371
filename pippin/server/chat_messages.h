// Conversion of clients' messages to the form that chat templates expect.
#pragma once

#include <string_view>

#include "pippin/chat/value.h"
#include "pippin/server/message_images.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Reads the messages of OpenAI's chat endpoint. Text parts are joined with line ends, and the
// arguments of tool calls become objects, as transformers passes them to templates. Throws
// ApiError(400), with the place in `param`, for anything but a list of messages, and for sound and
// files. The contents may have marks of `images`.
ChatInput openai_messages(const RequestFields& body, MessageImages images = {});

// Reads the messages of Anthropic's endpoint. `system`, joined with the system messages at the
// front, comes first. Thoughts, tool calls and their results take OpenAI's form; the result of a
// failed call has `is_error`. Throws the same errors.
ChatInput anthropic_messages(const RequestFields& body);

// Replaces the role "developer", which older templates do not support, with "system".
chat::Value without_developer(const chat::Value& messages);

}  // namespace pippin::server
