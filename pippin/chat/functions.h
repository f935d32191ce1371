// Global functions of templates: range, namespace, raise_exception and so on.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/chat/value.h"

namespace pippin::chat {

std::optional<Value> global_function(std::string_view name);

}  // namespace pippin::chat
