// The variables that a template takes from its context.
#pragma once

#include <set>
#include <string>

#include "pippin/chat/ast.h"

namespace pippin::chat {

// The names that the template reads although it does not set them itself on every way there. Names
// of functions that every template has (range, namespace) are among them.
std::set<std::string> free_names(const Body& body);

}  // namespace pippin::chat
