// UTF-8 and number helpers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pippin {

// Decodes the code point at `position` and moves past it. Invalid bytes give U+FFFD, one byte at a
// time.
char32_t decode_utf8(std::string_view text, size_t& position);
void append_utf8(std::string& out, char32_t code_point);
bool is_valid_utf8(std::string_view text);
// Returns the length of the longest prefix of `text` that is complete UTF-8; a streaming printer
// holds back the rest. Bytes that can never become valid count as complete.
size_t complete_utf8_prefix(std::string_view text);

// Returns "2.4 GB" or "512 B": decimal units, as related programs print them.
std::string format_bytes(uint64_t bytes);

}  // namespace pippin
