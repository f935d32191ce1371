// The script that a character is written in (UAX 24).
#pragma once

#include <cstdint>

namespace pippin::tokenizers {

// Returns a number for the script, 0 for unassigned code points. Japanese kana count as Han.
int script_of(char32_t c);

}  // namespace pippin::tokenizers
