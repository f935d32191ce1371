// The script that a character is written in (UAX 24).
#pragma once

#include <cstdint>

namespace pippin::tokenizers {

// A number for the script, 0 for unassigned code points. The Japanese kana count as Han.
int script_of(char32_t c);

}  // namespace pippin::tokenizers
