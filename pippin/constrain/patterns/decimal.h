// Decimal numbers of any length, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::constrain {

// 0.digits times 10 to the `point`: the digits begin and end with one that is not 0.
class Decimal {
 public:
  // As JSON writes numbers; nothing for anything else, and for exponents beyond 6 digits.
  static std::optional<Decimal> parse(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return is_negative_; }  // never of zero
  bool is_integer() const { return point_ >= static_cast<int64_t>(digits_.size()); }
  const std::string& digits() const { return digits_; }
  int64_t point() const { return point_; }
  // The digits in front of the point ("0" for none) and behind it (without zeros at the end).
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
