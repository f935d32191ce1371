// An effort of thinking in the words of a template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::server {

// The levels to try in this order with a template that has reasoning_effort: `effort` itself, then
// the nearest ones, and nothing at the end, which always holds. Levels that not every such template
// has come only if this one spells them.
std::vector<std::optional<std::string>> efforts_for(std::string_view effort,
                                                    std::string_view template_source);

}  // namespace pippin::server
