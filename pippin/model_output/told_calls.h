// Converts calls of earlier turns to the form that the model's template expects.
#pragma once

#include "pippin/chat/value.h"
#include "pippin/model_output/call_syntax.h"

namespace pippin::model_output {

// Returns OpenAI-style `messages` with arguments as objects. Results get the name of the tool that
// was called, which some templates need; calls that the template would omit become content.
chat::Value told_calls(const CallSyntax& syntax, const chat::Value& messages);

}  // namespace pippin::model_output
