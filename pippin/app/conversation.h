// A conversation as JSON: an object with "messages" and other values for the template, or just the
// list of messages.
#pragma once

#include <ctime>
#include <optional>
#include <string_view>

#include "pippin/chat/chat_template.h"

namespace pippin::app {

struct Conversation {
  chat::Dict context;  // messages, tools, documents, bos_token, enable_thinking, ...
  PromptEnd end = PromptEnd::Generation;
  chat::RenderOptions options;
};

// The member "now" is the time for strftime_now; "add_generation_prompt" and
// "continue_final_message" set `end`, which is `end_by_default` otherwise. Throws InvalidFile,
// starting with `name`.
Conversation parse_conversation(std::string_view json, std::string_view name,
                                PromptEnd end_by_default);

// Accepts "2025-01-02 03:04:05", or with a T instead of the space; the time, its seconds, their
// fraction (which is dropped) and a Z are optional. Nullopt for anything else.
std::optional<std::tm> parse_time(std::string_view text);

}  // namespace pippin::app
