// pprint.pformat of Python: values in lines of 80 characters.
#pragma once

#include <string>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

// Keys are sorted. Keys of one type that Python cannot compare are a template_error: there their
// order is that of their addresses.
std::string pretty(Runtime& runtime, const Value& value);

}  // namespace pippin::chat
