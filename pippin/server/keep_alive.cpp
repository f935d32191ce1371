#include "pippin/server/keep_alive.h"

#include <cmath>
#include <string>
#include <string_view>

#include "pippin/base/numbers/number.h"
#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

using std::chrono::milliseconds;

constexpr double kMostSeconds = 1e10;  // about 300 years

struct Unit {
  std::string_view name;
  double seconds;
};
// Units come after those that end with them.
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3},
                           {"h", 3600},  {"m", 60},    {"s", 1}};

// Parses "1h30m"; returns nothing for other texts.
std::optional<double> seconds_of(std::string_view text) {
  double number = 0;
  if (parse_number(text, number)) return number;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const size_t digits = text.find_first_not_of("0123456789.");
    if (digits == std::string_view::npos || !parse_number(text.substr(0, digits), number)) {
      return std::nullopt;
    }
    text.remove_prefix(digits);
    const Unit* unit = nullptr;
    for (const Unit& one : kUnits) {
      if (unit == nullptr && text.starts_with(one.name)) unit = &one;
    }
    if (unit == nullptr) return std::nullopt;
    text.remove_prefix(unit->name.size());
    seconds += number * unit->seconds;
  }
  return is_negative ? -seconds : seconds;
}

std::optional<milliseconds> as_time(std::optional<double> seconds) {
  if (!seconds || std::isnan(*seconds)) return std::nullopt;
  if (*seconds < 0 || *seconds > kMostSeconds) return milliseconds(-1);
  return milliseconds(static_cast<int64_t>(std::ceil(*seconds * 1000)));
}

}  // namespace

std::optional<milliseconds> parse_keep_alive(std::string_view text) {
  return as_time(seconds_of(text));
}

std::optional<milliseconds> read_keep_alive(const RequestFields& body) {
  const auto value = body.find("keep_alive");
  if (!value) return std::nullopt;
  std::optional<milliseconds> time;
  if (value->is_number()) time = as_time(value->as_float());
  if (value->is_string()) time = parse_keep_alive(value->as_string());
  if (time) return time;
  const std::string name = body.spelling("keep_alive");
  throw ApiError(400, name + ": expected seconds or a duration such as \"5m\"", name);
}

}  // namespace pippin::server
