#include "pippin/server/effort_hint.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace pippin::server {
namespace {

constexpr std::array<std::string_view, 6> kLevels = {"minimal", "low",   "medium",
                                                     "high",    "xhigh", "max"};

bool is_spelled(std::string_view level, std::string_view source) {
  for (const char quote : {'"', '\''}) {
    if (source.find(quote + std::string(level) + quote) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<std::optional<std::string>> efforts_for(std::string_view effort,
                                                    std::string_view template_source) {
  const auto at = [&](std::string_view level) {
    return std::find(kLevels.begin(), kLevels.end(), level) - kLevels.begin();
  };
  const auto is_common = [](std::string_view level) {
    return level == "low" || level == "medium" || level == "high";
  };
  std::vector<std::optional<std::string>> efforts;
  if (at(effort) == std::ssize(kLevels)) {
    if (is_spelled(effort, template_source)) efforts.emplace_back(effort);
  } else {
    for (const std::string_view level : kLevels) {
      if (is_common(level) || is_spelled(level, template_source)) efforts.emplace_back(level);
    }
    // Of two levels at the same distance, the one with more thought comes first.
    const auto distance = [&](const std::optional<std::string>& level) {
      const auto steps = at(*level) - at(effort);
      return steps >= 0 ? 2 * steps : -2 * steps + 1;
    };
    std::sort(efforts.begin(), efforts.end(),
              [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  }
  efforts.emplace_back(std::nullopt);
  return efforts;
}

}  // namespace pippin::server
