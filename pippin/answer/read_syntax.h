// Reads off a chat template how its model calls tools: the template is rendered with probe calls in
// the history, and the marks are what stands around their names and arguments.
#pragma once

#include <optional>
#include <vector>

#include "pippin/answer/call_syntax.h"
#include "pippin/chat/chat_template.h"

namespace pippin::answer {

// Nothing where neither the calls that the template writes nor its words tell.
std::optional<CallSyntax> read_call_syntax(const ChatTemplate& chat);

// Whether prompts name the tools that a request offers.
bool takes_tools(const ChatTemplate& chat);

// Sets what the template is given of `tools`, a list as OpenAI writes them.
void add_tools(const ChatTemplate& chat, const chat::Value& tools, chat::Dict& context);

}  // namespace pippin::answer
