// Python's text formatting, with its cost charged: "%s" % x, "{}".format(x), replace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/runtime.h"
#include "pippin/chat/value.h"

namespace pippin::chat {

std::string percent_format(Runtime& runtime, std::string_view format,
                           const std::vector<Value>& values);
// Supports fields by position or name, without attributes; rejects a format after ':' unless it is
// empty.
std::string brace_format(Runtime& runtime, std::string_view format, const Arguments& arguments);

Value replaced(Runtime& runtime, std::string_view text, std::string_view from, std::string_view to,
               int64_t most);

// Charge the cost of a split in advance: by a separator (null: runs of whitespace), or into lines.
void charge_parts(Runtime& runtime, std::string_view text, const std::string* separator);
void charge_lines(Runtime& runtime, std::string_view text);

}  // namespace pippin::chat
