// Reasoning efforts in the terms of a template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::server {

// Returns the levels to try in this order with a template that has reasoning_effort: `effort`
// itself, then the nearest ones, and finally nothing, which always works. Levels that only some of
// these templates support are included only if this one names them.
std::vector<std::optional<std::string>> efforts_for(std::string_view effort,
                                                    std::string_view template_source);

}  // namespace pippin::server
