// Repetition of a text, measured by compression.
#pragma once

#include <string_view>

namespace pippin::speech {

// Returns the number of bytes divided by that of zlib's compressed form, at zlib's default level.
double compression_ratio(std::string_view text);

}  // namespace pippin::speech
