// Parses numbers. The whole text must be a number in std::from_chars's format, independent of the
// locale, without blanks and plus sign. If the functions return false, `value` is unchanged.
#pragma once

#include <charconv>
#include <concepts>
#include <string_view>

namespace pippin {

// Also returns false if the number does not fit T.
template <std::integral T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

// Parses the nearest double. Accepts "inf" and "nan"; rejects numbers that would round to infinity
// or 0. With chars_format::hex, the text has no "0x".
bool parse_number(std::string_view text, double& value,
                  std::chars_format format = std::chars_format::general);

// The same with the C library, because some C++ libraries lack std::from_chars for double.
bool parse_number_by_c(std::string_view text, double& value,
                       std::chars_format format = std::chars_format::general);

}  // namespace pippin
