// Python's str, on UTF-8: positions and lengths count code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::chat {

bool is_space(char32_t c);  // str.isspace
std::string_view lstrip(std::string_view text);
std::string_view rstrip(std::string_view text);
// Takes any of `characters` off; without them, white space.
std::string_view strip(std::string_view text, const std::string* characters, bool left, bool right);

int64_t text_length(std::string_view text);
// Where the character of this index begins; the text's size from its length on.
size_t byte_offset(std::string_view text, size_t index);
std::vector<std::string_view> characters(std::string_view text);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
// Upper case after every character for which `starts_word` holds; str.title's rule is "no letter".
std::string title(std::string_view text, bool only_after_separators);

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        int64_t most);
// str.split and str.rsplit; `separator` null means runs of white space.
std::vector<std::string> split(std::string_view text, const std::string* separator, int64_t most,
                               bool from_right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);

}  // namespace pippin::chat
