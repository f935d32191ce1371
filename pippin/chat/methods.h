// Methods of strings, dicts and lists.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/chat/value.h"

namespace pippin::chat {

// The method as something to call; nothing where `object` has none of that name. Methods that would
// change a list or dict are found too, and refuse to run.
std::optional<Value> find_method(const Value& object, std::string_view name);

}  // namespace pippin::chat
