// Methods of strings, dicts and lists.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/chat/value.h"

namespace pippin::chat {

// Returns the method as a callable value; nothing if `object` has no method with that name. Methods
// that would modify a list or dict exist, too, but fail when called.
std::optional<Value> find_method(const Value& object, std::string_view name);

}  // namespace pippin::chat
