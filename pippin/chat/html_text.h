// HTML in texts: markupsafe's striptags, and names for xmlattr.
#pragma once

#include <string>
#include <string_view>

namespace pippin::chat {

// Like html.unescape: decodes "&lt;", "&#60;" and "&#x3c" as browsers do.
std::string unescape_html(std::string_view text);
// Removes comments and tags, collapses whitespace, and unescapes.
std::string strip_tags(std::string_view text);

}  // namespace pippin::chat
