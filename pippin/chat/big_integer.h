// Python's integers beyond 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::chat {

class BigInteger {
 public:
  // Python's own limit for integers that become text.
  static constexpr size_t kMostDigits = 4300;

  explicit BigInteger(int64_t number) : text_(std::to_string(number)) {}
  // Nothing where `digits`, after an optional sign, are not digits of the base (2 to 36) or are
  // more than kMostDigits.
  static std::optional<BigInteger> parse(std::string_view digits, int base = 10);

  const std::string& text() const { return text_; }  // decimal
  std::optional<int64_t> small() const;              // the same, where 64 bits hold it
  double number() const;                             // the nearest one; infinite beyond
  int compare(const BigInteger& other) const;        // below, equal to or above 0

  // op: + - * // % **, the division rounding down. Throws Error(InvalidArgument) for a division by
  // zero, a negative power, and a result of too many digits.
  BigInteger apply(std::string_view op, const BigInteger& other) const;

 private:
  explicit BigInteger(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace pippin::chat
