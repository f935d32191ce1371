// Runs a parsed template.
#pragma once

#include <string>

#include "pippin/chat/ast.h"
#include "pippin/chat/runtime.h"

namespace pippin::chat {

// Throws Error with the line: InvalidArgument for what the template or raise_exception() refuses,
// LimitExceeded for a template that wants more than its limits.
std::string run(const Body& body, const Dict& context, const Limits& limits, const std::tm& now);

}  // namespace pippin::chat
