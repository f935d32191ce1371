// Python's str methods on UTF-8: positions and lengths count code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::chat {

std::string_view lstrip(std::string_view text);
std::string_view rstrip(std::string_view text);
// Strips `characters`, or whitespace if null.
std::string_view strip(std::string_view text, const std::string* characters, bool left, bool right);

int64_t text_length(std::string_view text);
// Returns the offset of the character with this index; the text's size if the index is not below
// its length.
size_t byte_offset(std::string_view text, size_t index);
std::vector<std::string_view> characters(std::string_view text);

// Implemented in letter_case.cpp.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string swap_case(std::string_view text);
std::string fold_case(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
bool is_upper_text(std::string_view text);  // str.isupper
bool is_lower_text(std::string_view text);
bool is_title_text(std::string_view text);

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        int64_t most);
// str.split and str.rsplit; `separator` null means runs of white space.
std::vector<std::string> split(std::string_view text, const std::string* separator, int64_t most,
                               bool from_right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
// str.expandtabs. The result adds at most `width` bytes per tab.
std::string expand_tabs(std::string_view text, int64_t width);

}  // namespace pippin::chat
