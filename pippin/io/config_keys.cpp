#include "pippin/io/config_keys.h"

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin {

ConfigKeys::ConfigKeys(const Json& json, std::string_view type_key) : json_(json) {
  if (!json.is_object()) json.invalid("expected an object");
  type_ = json.get_string(type_key);
  ignore(type_key);
}

int64_t ConfigKeys::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
  ignore(key);
  const auto found = json_.find(key);
  return found ? found->as_int(min, max) : fallback;
}

double ConfigKeys::number(std::string_view key, double fallback, double min, double max) {
  ignore(key);
  const double value = json_.get_float_or(key, fallback);
  if (value >= min && value <= max) return value;
  invalid(key, fmt::format("{} is not between {} and {}", value, min, max));
}

std::string ConfigKeys::text(std::string_view key, std::string_view fallback) {
  ignore(key);
  return json_.get_string_or(key, fallback);
}

bool ConfigKeys::flag(std::string_view key, bool fallback) {
  ignore(key);
  return json_.get_bool_or(key, fallback);
}

void ConfigKeys::ignore(std::string_view key) {
  read_.emplace(key);
}

void ConfigKeys::require_number(std::string_view key, double value) {
  ignore(key);
  const double found = json_.get_float_or(key, value);
  if (found != value) unsupported(key, fmt::format("{} (only {})", found, value));
}

void ConfigKeys::require_flag(std::string_view key, bool value) {
  if (flag(key, value) != value) unsupported(key, value ? "false" : "true");
}

void ConfigKeys::invalid(std::string_view key, std::string_view what) const {
  fail(ErrorCode::InvalidFile, "{}: {}", json_.where(key), what);
}

void ConfigKeys::unsupported(std::string_view key, std::string_view what) const {
  fail(ErrorCode::Unsupported, "{}: {} is not supported for {}", json_.where(key), what, type_);
}

}  // namespace pippin
