// Fields of messages in any dialect, with errors that name their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pippin/chat/value.h"
#include "pippin/io/json.h"

namespace pippin::server {

// Throws ApiError(400) with the place in the message and in `param`.
[[noreturn]] void refuse_at(const std::string& place, std::string_view what);

// Each of these throws the same error.
std::string text_of(const Json& json, const std::string& place);
// Returns the member "type" of an object.
std::string type_at(const Json& part, const std::string& place);
// Returns a required member.
Json member(const Json& object, std::string_view name, const std::string& place);
// Returns the role of a message; it is not empty.
std::string role_of(const Json& message, const std::string& place);
// Returns the arguments of a call as an object. Clients send them as text; absent or empty: no
// arguments.
chat::Value arguments_of(const std::optional<Json>& given, const std::string& place);

// Returns a member that is a string; empty if absent.
std::string text_in(const Json& object, std::string_view name);

chat::Value value_of(const Json& json);

// Formats a client's value for an error message: in quotes, shortened if long.
std::string shown(std::string_view value);

// Appends a line to a text.
void add_line(std::string& text, std::string_view more);

}  // namespace pippin::server
