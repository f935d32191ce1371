// Python's pprint.pformat: values in lines of 80 characters.
#pragma once

#include <string>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

// Sorts keys. Keys of one type that Python cannot compare cause a template_error, because Python
// would order them by address.
std::string pretty(Runtime& runtime, const Value& value);

}  // namespace pippin::chat
