// What may stand after "|".
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

Value apply_filter(Runtime& runtime, std::string_view name, const Value& input,
                   const Arguments& arguments);
bool has_filter(std::string_view name);

// A filter's name and code; each kind of filters has a table.
struct FilterEntry {
  std::string_view name;
  Value (*apply)(Runtime& runtime, const Value& input, const Arguments& arguments);
};
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> list_filters();
std::span<const FilterEntry> layout_filters();

// What an argument that may be absent says.
inline bool flag(const std::optional<Value>& value, bool fallback) {
  return value ? value->truthy() : fallback;
}

}  // namespace pippin::chat
