// Texts of files and clients for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pippin {

// Returns the text, or its first `most` bytes and "..." if it has more. Does not cut a character of
// UTF-8.
std::string shortened(std::string_view text, size_t most = 80);

}  // namespace pippin
