// Calls of earlier turns, in the form in which the model's template takes them.
#pragma once

#include "pippin/answer/call_syntax.h"
#include "pippin/chat/value.h"

namespace pippin::answer {

// `messages` as OpenAI writes them, with arguments as objects. Results get the name of the tool
// that was called, which some templates need; calls that the template leaves out become content.
chat::Value told_calls(const CallSyntax& syntax, const chat::Value& messages);

}  // namespace pippin::answer
