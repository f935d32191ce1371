// Infers from a chat template how its model calls tools: renders it with probe calls in the
// history; the marks are the text around their names and arguments.
#pragma once

#include <optional>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/model_output/call_syntax.h"

namespace pippin::model_output {

// Returns nothing if neither the rendered calls nor the template's words show the syntax.
std::optional<CallSyntax> read_call_syntax(const ChatTemplate& chat);

// Returns whether prompts list the tools that a request offers.
bool takes_tools(const ChatTemplate& chat);

// Sets the template's variables for `tools`, a list in OpenAI's format.
void add_tools(const ChatTemplate& chat, const chat::Value& tools, chat::Dict& context);

}  // namespace pippin::model_output
