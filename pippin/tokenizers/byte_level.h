// The byte-level alphabet of GPT-2: every byte has a printable character, so that a vocabulary can
// hold any bytes as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

std::string bytes_to_characters(std::string_view bytes);
// The bytes that `text` stands for; nothing where a character is outside the alphabet.
std::optional<std::string> characters_to_bytes(std::string_view text);

}  // namespace pippin::tokenizers
