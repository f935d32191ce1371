// Blocks of code points (Unicode's Blocks.txt).
#pragma once

#include <optional>
#include <string_view>

#include "pippin/tokenizers/unicode/character_set.h"

namespace pippin::tokenizers {

// `name` is in lower case without separators: "incyrillic", "innoblock".
std::optional<CharacterSet> block_named(std::string_view name);

}  // namespace pippin::tokenizers
