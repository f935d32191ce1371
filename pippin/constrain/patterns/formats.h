// JSON Schema's formats, as contents of JSON strings.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// Returns nothing for an unknown format, which is an annotation. Throws Unsupported for a format
// that cannot be matched exactly. `leap_seconds`: whether times may have them; never required.
std::optional<RegexId> format_content(RegexPool& pool, std::string_view format,
                                      bool leap_seconds = true);

}  // namespace pippin::constrain
