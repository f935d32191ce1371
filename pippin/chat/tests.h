// Tests, which follow "is".
#pragma once

#include <string_view>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

bool apply_test(Runtime& runtime, std::string_view name, const Value& input,
                const Arguments& arguments);
bool has_test(std::string_view name);

}  // namespace pippin::chat
