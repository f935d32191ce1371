#include "pippin/base/numbers/number.h"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>

#include <locale.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // strtod_l, where <stdlib.h> is not its place
#endif

namespace pippin {

bool parse_number(std::string_view text, double& value, std::chars_format format) {
#if defined(__cpp_lib_to_chars)
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, format);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
#else
  return parse_number_by_c(text, value, format);
#endif
}

bool parse_number_by_c(std::string_view text, double& value, std::chars_format format) {
  const bool hex = format == std::chars_format::hex, negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  // strtod accepts more than from_chars: leading blanks and signs, and "0x".
  const bool word = !digits.empty() && std::string_view("iInN").find(digits[0]) != digits.npos;
  const std::string_view first = hex ? ".0123456789abcdefABCDEF" : ".0123456789";
  if (!word && (digits.empty() || first.find(digits[0]) == first.npos)) return false;
  if (digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X')) return false;
  std::string spelled = negative ? "-" : "";
  if (hex && !word) spelled += "0x";
  spelled += digits;

  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  char* stop = nullptr;
  const double number = ::strtod_l(spelled.c_str(), &stop, plain);
  if (stop != spelled.c_str() + spelled.size()) return false;
  if (!word && std::isinf(number)) return false;
  // A nonzero number underflowed to 0.
  if (number == 0) {
    const std::string_view mantissa = digits.substr(0, digits.find_first_of(hex ? "pP" : "eE"));
    if (mantissa.find_first_not_of("0.") != mantissa.npos) return false;
  }
  value = number;
  return true;
}

}  // namespace pippin
