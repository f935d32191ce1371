// HTML in texts: markupsafe's striptags and xmlattr's names.
#pragma once

#include <string>
#include <string_view>

namespace pippin::chat {

// html.unescape: "&lt;", "&#60;" and "&#x3c" become characters, as browsers read them.
std::string unescape_html(std::string_view text);
// Without comments and tags, runs of white space as one space, unescaped.
std::string strip_tags(std::string_view text);

}  // namespace pippin::chat
