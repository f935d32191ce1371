// Names of models as clients of other servers write them.
#pragma once

#include <string>
#include <string_view>

namespace pippin::server {

// Without ollama's ":latest" at the end, and without "hf.co/" or "huggingface.co/" at the begin.
std::string_view plain_name(std::string_view name);

// As ollama lists it: with ":latest" where the name has no tag.
std::string tagged_name(const std::string& name);

}  // namespace pippin::server
