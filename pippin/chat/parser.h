// Parses tokens into a tree, by Jinja's grammar.
#pragma once

#include <string_view>

#include "pippin/chat/ast.h"

namespace pippin::chat {

// Throws Error with the line: InvalidFile for a syntax error, Unsupported for statements that are
// not implemented.
Body parse(std::string_view source);

}  // namespace pippin::chat
