// Syntaxes of templates that do not write calls, or from which the syntax cannot be inferred.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/model_output/call_syntax.h"

namespace pippin::model_output {

// Identifies a template by words in its source. Returns nothing for other templates.
std::optional<CallSyntax> known_syntax(std::string_view source);
// Identifies the syntax by the instructions to the model in the source.
std::optional<CallSyntax> described_syntax(std::string_view source);

}  // namespace pippin::model_output
