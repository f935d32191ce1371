// Fields of messages, whatever the dialect, with errors that name their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pippin/chat/value.h"
#include "pippin/io/json.h"

namespace pippin::server {

// Throws ApiError(400) with the place in the message and in `param`.
[[noreturn]] void refuse_at(const std::string& place, std::string_view what);

// Each of these throws the same.
std::string text_of(const Json& json, const std::string& place);
// The member "type" of an object.
std::string type_at(const Json& part, const std::string& place);
// A required member.
Json member(const Json& object, std::string_view name, const std::string& place);
// The role of a message; not empty.
std::string role_of(const Json& message, const std::string& place);
// The arguments of a call as an object. Clients send them as text, and nothing for none.
chat::Value arguments_of(const std::optional<Json>& given, const std::string& place);

// A member that is a string; empty if absent.
std::string text_in(const Json& object, std::string_view name);

chat::Value value_of(const Json& json);

// A value of the client's for a message of an error, in quotes and not too long.
std::string shown(std::string_view value);

// Adds a line to a text.
void add_line(std::string& text, std::string_view more);

}  // namespace pippin::server
