#include "pippin/server/request_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::server {

Json parse_body(std::string_view body) {
  Json json = read_field("", [&] { return Json::parse(body, "request"); });
  if (!json.is_object()) throw ApiError(400, "request: expected an object of JSON");
  return json;
}

std::optional<bool> find_bool(const RequestFields& object, std::string_view name) {
  return read_field(object.spelling(name), [&]() -> std::optional<bool> {
    if (const auto value = object.find(name)) return value->as_bool();
    return std::nullopt;
  });
}

std::optional<int64_t> find_int(const RequestFields& object, std::string_view name, int64_t least,
                                int64_t most) {
  return read_field(object.spelling(name), [&]() -> std::optional<int64_t> {
    const auto value = object.find(name);
    if (!value) return std::nullopt;
    // Some clients write integers as 1.0.
    if (value->type() == Json::Type::Float) {
      const double number = value->as_float();
      const auto whole = static_cast<int64_t>(std::clamp(number, -1e15, 1e15));
      if (static_cast<double>(whole) == number && whole >= least && whole <= most) return whole;
    }
    return value->as_int(least, most);
  });
}

std::optional<double> find_number(const RequestFields& object, std::string_view name) {
  return read_field(object.spelling(name), [&]() -> std::optional<double> {
    if (const auto value = object.find(name)) return value->as_float();
    return std::nullopt;
  });
}

std::optional<std::string> find_string(const RequestFields& object, std::string_view name) {
  return read_field(object.spelling(name), [&]() -> std::optional<std::string> {
    if (const auto value = object.find(name)) return std::string(value->as_string());
    return std::nullopt;
  });
}

std::vector<std::string> find_strings(const RequestFields& object, std::string_view name,
                                      size_t most) {
  return read_field(object.spelling(name), [&]() -> std::vector<std::string> {
    const auto value = object.find(name);
    if (!value) return {};
    if (value->is_string()) return {std::string(value->as_string())};
    if (value->is_array() && value->size() > most) {
      value->invalid(fmt::format("{} strings, at most {} are taken", value->size(), most));
    }
    return value->as_strings();
  });
}

}  // namespace pippin::server
