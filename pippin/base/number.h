// Numbers in texts: all of the text is the number, spelled as std::from_chars reads it whatever the
// locale, without blanks and plus sign. False leaves `value` as it was.
#pragma once

#include <charconv>
#include <concepts>
#include <string_view>

namespace pippin {

// False also where the number does not fit into T.
template <std::integral T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

// The nearest double; "inf" and "nan" are numbers, what would round to infinity or 0 is none.
// Digits of chars_format::hex have no "0x".
bool parse_number(std::string_view text, double& value,
                  std::chars_format format = std::chars_format::general);

// The same by the C library: some C++ libraries have no std::from_chars for double.
bool parse_number_by_c(std::string_view text, double& value,
                       std::chars_format format = std::chars_format::general);

}  // namespace pippin
