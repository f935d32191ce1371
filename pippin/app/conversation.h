// A conversation as JSON: an object with "messages" and what else a template may ask for, or just
// the list of messages.
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

// Of the members "now" is the time of strftime_now; "add_generation_prompt" and
// "continue_final_message" set `end`, which else is `end_by_default`. Throws InvalidFile, with
// `name` in front.
Conversation parse_conversation(std::string_view json, std::string_view name,
                                PromptEnd end_by_default);

// "2025-01-02 03:04:05" or with a T between; the time, its seconds, their fraction (which is
// dropped) and a Z may be left out. Nothing for anything else.
std::optional<std::tm> parse_time(std::string_view text);

}  // namespace pippin::app
