#include "pippin/constrain/patterns/decimal.h"

#include <algorithm>

namespace pippin::constrain {

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal result;
  size_t i = 0;
  const auto is_digit = [&] { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  if (i < text.size() && text[i] == '-') {
    result.is_negative_ = true;
    ++i;
  }
  const size_t begin = i;
  while (is_digit()) result.digits_ += text[i++];
  if (i == begin) return std::nullopt;
  result.point_ = static_cast<int64_t>(i - begin);
  if (i < text.size() && text[i] == '.') {
    const size_t fraction = ++i;
    while (is_digit()) result.digits_ += text[i++];
    if (i == fraction) return std::nullopt;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    bool is_negative = false;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) is_negative = text[i++] == '-';
    int64_t exponent = 0;
    const size_t first = i;
    while (is_digit()) {
      exponent = 10 * exponent + (text[i++] - '0');
      if (exponent > 999'999) return std::nullopt;
    }
    if (i == first) return std::nullopt;
    result.point_ += is_negative ? -exponent : exponent;
  }
  if (i != text.size()) return std::nullopt;
  const size_t zeros = std::min(result.digits_.find_first_not_of('0'), result.digits_.size());
  result.digits_.erase(0, zeros);
  result.point_ -= static_cast<int64_t>(zeros);
  while (!result.digits_.empty() && result.digits_.back() == '0') result.digits_.pop_back();
  if (result.digits_.empty()) return Decimal();
  return result;
}

std::string Decimal::integer_digits() const {
  if (is_zero() || point_ <= 0) return "0";
  std::string text = digits_.substr(0, std::min(digits_.size(), static_cast<size_t>(point_)));
  text.resize(static_cast<size_t>(point_), '0');
  return text;
}

std::string Decimal::fraction_digits() const {
  if (is_zero() || is_integer()) return "";
  if (point_ < 0) return std::string(static_cast<size_t>(-point_), '0') + digits_;
  return digits_.substr(static_cast<size_t>(point_));
}

Decimal Decimal::magnitude() const {
  Decimal result = *this;
  result.is_negative_ = false;
  return result;
}

}  // namespace pippin::constrain
