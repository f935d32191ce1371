#include "pippin/server/message_fields.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/shortened.h"
#include "pippin/chat/json.h"
#include "pippin/server/api_error.h"

namespace pippin::server {

void refuse_at(const std::string& place, std::string_view what) {
  throw ApiError(400, fmt::format("{}: {}", place, what), place);
}

std::string text_of(const Json& json, const std::string& place) {
  if (!json.is_string()) refuse_at(place, "expected a string");
  return std::string(json.as_string());
}

std::string type_at(const Json& part, const std::string& place) {
  if (!part.is_object()) refuse_at(place, "expected an object with a type");
  const auto type = part.find("type");
  if (!type) refuse_at(place, "has no type");
  return text_of(*type, place + ".type");
}

Json member(const Json& object, std::string_view name, const std::string& place) {
  const auto found = object.find(name);
  if (!found) refuse_at(place, fmt::format("has no {}", name));
  return *found;
}

std::string role_of(const Json& message, const std::string& place) {
  if (!message.is_object()) refuse_at(place, "expected an object");
  std::string role = text_of(member(message, "role", place), place + ".role");
  if (role.empty()) refuse_at(place + ".role", "is empty");
  return role;
}

chat::Value arguments_of(const std::optional<Json>& given, const std::string& place) {
  chat::Value arguments = chat::Dict();
  if (!given) return arguments;
  const std::string text = given->is_string() ? std::string(given->as_string()) : given->dump();
  try {
    if (!text.empty()) arguments = chat::parse_json(text, "arguments");
  } catch (const Error& error) {
    refuse_at(place, fmt::format("not valid JSON: {}", error.what()));
  }
  if (!arguments.is_dict()) refuse_at(place, "expected a JSON object");
  return arguments;
}

std::string text_in(const Json& object, std::string_view name) {
  const auto value = object.find(name);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

chat::Value value_of(const Json& json) {
  return chat::parse_json(json.dump(), "request");
}

std::string shown(std::string_view value) {
  return fmt::format("\"{}\"", shortened(value));
}

void add_line(std::string& text, std::string_view more) {
  if (!text.empty()) text += '\n';
  text += more;
}

}  // namespace pippin::server
