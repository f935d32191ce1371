// Converts values to JSON from the notations that some models use for arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pippin/model_output/marks.h"

namespace pippin::model_output {

// Reads a Python literal: 'text', "text", 1.5, True, None, [..], (..), {'a': ..}. Appends the value
// to `json` and moves `position` after it. Returns More, without changes, if the value may
// continue.
Found read_python_value(std::string_view text, size_t& position, std::string& json);

// Reads a value of {k:v, ...}: texts are enclosed in `quote`, keys are bare.
Found read_quoted_value(std::string_view text, size_t& position, std::string_view quote,
                        std::string& json);

// Returns `text` as a JSON string with quotes.
std::string json_string(std::string_view text);

}  // namespace pippin::model_output
