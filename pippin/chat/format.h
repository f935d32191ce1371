// Python's ways to build text: "%s" % x, "{}".format(x), replace with its costs charged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/runtime.h"
#include "pippin/chat/value.h"

namespace pippin::chat {

std::string percent_format(Runtime& runtime, std::string_view format,
                           const std::vector<Value>& values);
// Fields by position or name, without attributes; a format after ':' is refused unless empty.
std::string brace_format(Runtime& runtime, std::string_view format, const Arguments& arguments);

Value replaced(Runtime& runtime, std::string_view text, std::string_view from, std::string_view to,
               int64_t most);

// Before a text is split: by a separator (null: runs of white space), or into lines.
void charge_parts(Runtime& runtime, std::string_view text, const std::string* separator);
void charge_lines(Runtime& runtime, std::string_view text);

}  // namespace pippin::chat
