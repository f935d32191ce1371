// Blocks of code points (Unicode's Blocks.txt).
#pragma once

#include <optional>
#include <string_view>

#include "pippin/tokenizers/character_set.h"

namespace pippin::tokenizers {

// `name` is in lower case, without anything between its words: "incyrillic", "innoblock".
std::optional<CharacterSet> block_named(std::string_view name);

}  // namespace pippin::tokenizers
