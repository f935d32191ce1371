// The formats that JSON Schema names, as contents of JSON strings.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/constrain/regex_pool.h"

namespace pippin::constrain {

// Nothing for a format that is not known: an annotation. Throws Unsupported for one that is known
// and cannot be told exactly.
// `leap_seconds`: times may have them; nobody has to write one.
std::optional<RegexId> format_content(RegexPool& pool, std::string_view format,
                                      bool leap_seconds = true);

}  // namespace pippin::constrain
