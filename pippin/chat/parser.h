// Tokens to a tree, by Jinja's grammar.
#pragma once

#include <string_view>

#include "pippin/chat/ast.h"

namespace pippin::chat {

// Throws Error: InvalidFile for broken syntax, Unsupported for statements that are not here, each
// with the line.
Body parse(std::string_view source);

}  // namespace pippin::chat
