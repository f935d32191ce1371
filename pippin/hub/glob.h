// File patterns as in huggingface_hub: Python's fnmatch over whole paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::hub {

// '*' matches any run of characters, including slashes; '?' any character; [abc], [a-z] or [!a-z] a
// set. A pattern that ends with '/' matches everything inside. The time is proportional to the
// length of the text times that of the pattern.
bool glob_matches(std::string_view pattern, std::string_view text);
bool any_glob_matches(const std::vector<std::string>& patterns, std::string_view text);

}  // namespace pippin::hub
