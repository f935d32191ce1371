// Converts JSON to values (pippin/io/json.h), and back like Python's json.dumps, with its spaces
// and escapes, NaN, and keys that are not strings, which JsonWriter does not support.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pippin/chat/value.h"
#include "pippin/io/json.h"

namespace pippin::chat {

// Keeps the order of keys and all digits of integers. Throws as Json::parse, with the prefix
// `name`.
Value parse_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // one level
  std::string item_separator = ", ";  // without indent
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// Throws Error(InvalidArgument) for a value that JSON cannot represent.
std::string to_json(const Value& value, const JsonStyle& style = {});

}  // namespace pippin::chat
