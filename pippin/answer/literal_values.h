// Values as some models write the arguments of their calls, as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pippin/answer/marks.h"

namespace pippin::answer {

// A literal of Python: 'text', "text", 1.5, True, None, [..], (..), {'a': ..}. Moves `position`
// behind it and appends the value to `json`; More where the text may go on, with nothing changed.
Found read_python_value(std::string_view text, size_t& position, std::string& json);

// A value of {k:v, ...}: texts stand between `quote`, keys are bare.
Found read_quoted_value(std::string_view text, size_t& position, std::string_view quote,
                        std::string& json);

// `text` as a string of JSON, with its quotes.
std::string json_string(std::string_view text);

}  // namespace pippin::answer
