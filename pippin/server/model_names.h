// Names of models in the forms that clients of other servers use.
#pragma once

#include <string>
#include <string_view>

namespace pippin::server {

// Strips ollama's ":latest" from the end, and "hf.co/" or "huggingface.co/" from the beginning.
std::string_view plain_name(std::string_view name);

// Returns the name as ollama lists it: with ":latest" if it has no tag.
std::string tagged_name(const std::string& name);

}  // namespace pippin::server
