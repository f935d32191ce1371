// What may stand after "|".
#pragma once

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
const FilterEntry* find_text_filter(std::string_view name);
const FilterEntry* find_list_filter(std::string_view name);
const FilterEntry* find_layout_filter(std::string_view name);

}  // namespace pippin::chat
