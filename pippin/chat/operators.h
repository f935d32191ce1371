// Python's operators on values. Operations that Python rejects raise a template_error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/runtime.h"
#include "pippin/chat/value.h"

namespace pippin::chat {

// Throws if the value is undefined: "'x' is undefined".
void require_defined(const Value& value);

Value binary(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
Value negate(const Value& operand);
bool compare(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
bool equal(Runtime& runtime, const Value& left, const Value& right);
// Returns below 0, 0 or above 0.
int order(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& container, const Value& item);

// Returns the items for a for loop; this consumes a generator.
std::vector<Value> iterate(Runtime& runtime, const Value& value);
// characters(), with the cost of a list that is larger than the text.
std::vector<std::string_view> charged_characters(Runtime& runtime, std::string_view text);
// len(); nothing if the value has none.
std::optional<int64_t> length(const Value& value);

// object.name and object[key]; undefined if missing.
Value attribute(Runtime& runtime, const Value& object, const std::string& name);
Value item(Runtime& runtime, const Value& object, const Value& key);
Value slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
            const Value& step);

}  // namespace pippin::chat
