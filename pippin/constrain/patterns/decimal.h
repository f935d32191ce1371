// Exact decimal numbers of any length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::constrain {

// 0.digits times 10^point; the first and last digits are not 0.
class Decimal {
 public:
  // Parses a JSON number. Returns nothing for other text, or for an exponent of more than 6 digits.
  static std::optional<Decimal> parse(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return is_negative_; }  // never of zero
  bool is_integer() const { return point_ >= static_cast<int64_t>(digits_.size()); }
  const std::string& digits() const { return digits_; }
  int64_t point() const { return point_; }
  // The digits before the point ("0" if none) and after it (without trailing zeros).
  std::string integer_digits() const;
  std::string fraction_digits() const;
  Decimal magnitude() const;
  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  std::string digits_;
  int64_t point_ = 0;
  bool is_negative_ = false;
};

}  // namespace pippin::constrain
