// Runs a parsed template.
#pragma once

#include <string>

#include "pippin/chat/ast.h"
#include "pippin/chat/runtime.h"

namespace pippin::chat {

// Throws Error with the line: InvalidArgument for errors of the template, including
// raise_exception(), LimitExceeded if the template exceeds its limits.
std::string run(const Body& body, const Dict& context, const Limits& limits, const std::tm& now);

}  // namespace pippin::chat
