// File patterns as huggingface_hub takes them: Python's fnmatch over whole paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::hub {

// '*' is any run of characters, slashes included; '?' any one; [abc], [a-z], [!a-z] a set. A
// pattern that ends with '/' means all that is inside. The time is linear in text times pattern.
bool glob_matches(std::string_view pattern, std::string_view text);
bool any_glob_matches(const std::vector<std::string>& patterns, std::string_view text);

}  // namespace pippin::hub
