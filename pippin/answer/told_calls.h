// Converts calls of earlier turns to the form that the model's template expects.
#pragma once

#include "pippin/answer/call_syntax.h"
#include "pippin/chat/value.h"

namespace pippin::answer {

// Returns OpenAI-style `messages` with arguments as objects. Results get the name of the tool that
// was called, which some templates need; calls that the template would omit become content.
chat::Value told_calls(const CallSyntax& syntax, const chat::Value& messages);

}  // namespace pippin::answer
