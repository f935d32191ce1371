// The byte-level alphabet of GPT-2: every byte has a printable character, so that a vocabulary can
// hold any bytes as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

std::string bytes_to_characters(std::string_view bytes);
// Appends the bytes that `text` encodes. Returns false and appends nothing if a character is
// outside the alphabet.
bool append_bytes_of(std::string_view text, std::string& bytes);

}  // namespace pippin::tokenizers
