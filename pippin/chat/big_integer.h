// Python integers beyond 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::chat {

class BigInteger {
 public:
  // Python's own limit for converting integers to text.
  static constexpr size_t kMostDigits = 4300;

  explicit BigInteger(int64_t number) : text_(std::to_string(number)) {}
  // Returns nothing unless `digits`, after an optional sign, has at most kMostDigits digits in the
  // base (2 to 36).
  static std::optional<BigInteger> parse(std::string_view digits, int base = 10);

  const std::string& text() const { return text_; }  // decimal
  std::optional<int64_t> small() const;              // if it fits 64 bits
  double number() const;                             // nearest double; infinite beyond the range
  int compare(const BigInteger& other) const;        // below 0, 0 or above 0

  // op: + - * // % **; division rounds down. Throws Error(InvalidArgument) for a division by zero,
  // a negative power, or a result with too many digits.
  BigInteger apply(std::string_view op, const BigInteger& other) const;

 private:
  explicit BigInteger(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace pippin::chat
