#include "pippin/tokenizers/tables/serde_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "pippin/base/numbers/number.h"

namespace pippin::tokenizers {
namespace {

constexpr int64_t kLargestPower = 308;

// 1e0 to 1e308, each rounded to the nearest double.
const std::array<double, kLargestPower + 1>& powers_of_ten() {
  static const auto powers = [] {
    std::array<double, kLargestPower + 1> table{};
    for (size_t i = 0; i < table.size(); ++i) {
      parse_number("1e" + std::to_string(i), table[i]);
    }
    return table;
  }();
  return powers;
}

std::optional<double> scaled(uint64_t digits, int64_t exponent) {
  auto number = static_cast<double>(digits);
  for (; exponent < -kLargestPower && number != 0; exponent += kLargestPower) {
    number /= powers_of_ten().back();
  }
  if (number == 0) return 0;
  if (exponent > kLargestPower) return std::nullopt;
  const double power = powers_of_ten()[static_cast<size_t>(std::abs(exponent))];
  number = exponent < 0 ? number / power : number * power;
  if (std::isinf(number)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> serde_number(std::string_view text) {
  size_t at = 0;
  const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  uint64_t digits = 0;
  const auto add_digit = [&] {
    const auto digit = static_cast<uint64_t>(text[at] - '0');
    if (digits > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
    digits = 10 * digits + digit;
    ++at;
    return true;
  };
  const bool negative = text.starts_with('-');
  if (negative) ++at;
  int64_t exponent = 0;
  while (is_digit() && add_digit()) {
  }
  for (; is_digit(); ++at) ++exponent;  // further digits, which do not fit
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (is_digit() && add_digit()) --exponent;
    while (is_digit()) ++at;
  }
  if (at < text.size()) {  // 'e'
    ++at;
    const bool down = text[at] == '-';
    if (down || text[at] == '+') ++at;
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    int64_t given = 0;
    for (; is_digit(); ++at) given = std::min(10 * given + (text[at] - '0'), kMost);
    exponent += down ? -given : given;
  }
  const auto size = scaled(digits, exponent);
  return size && negative ? -*size : size;
}

}  // namespace pippin::tokenizers
