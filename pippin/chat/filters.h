// Filters, which follow "|".
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

Value apply_filter(Runtime& runtime, std::string_view name, const Value& input,
                   const Arguments& arguments);
bool has_filter(std::string_view name);

// A filter's name and function; each group of filters has a table.
struct FilterEntry {
  std::string_view name;
  Value (*apply)(Runtime& runtime, const Value& input, const Arguments& arguments);
};
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> list_filters();
std::span<const FilterEntry> layout_filters();

// Returns the value of an optional flag.
inline bool flag(const std::optional<Value>& value, bool fallback) {
  return value ? value->truthy() : fallback;
}

}  // namespace pippin::chat
