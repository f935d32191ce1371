// Syntaxes of templates that do not write calls, or write them in a way that does not tell.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/answer/call_syntax.h"

namespace pippin::answer {

// By words that stand in the template's source. Nothing for a template of another kind.
std::optional<CallSyntax> known_syntax(std::string_view source);
// By what the source tells the model to write.
std::optional<CallSyntax> described_syntax(std::string_view source);

}  // namespace pippin::answer
