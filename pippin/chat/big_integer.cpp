#include "pippin/chat/big_integer.h"

#include <charconv>
#include <cstdlib>
#include <memory>

#include <openssl/bn.h>

#include "pippin/base/error.h"

namespace pippin::chat {
namespace {

struct Free {
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(BN_CTX* context) const { BN_CTX_free(context); }
  void operator()(char* text) const { OPENSSL_free(text); }
};
using Bignum = std::unique_ptr<BIGNUM, Free>;

Bignum new_number() {
  Bignum number(BN_new());
  if (!number) fail(ErrorCode::LimitExceeded, "no memory for a number");
  return number;
}

void check(int done) {
  if (done == 0) fail(ErrorCode::LimitExceeded, "no memory for a number");
}

Bignum to_number(const std::string& text) {
  BIGNUM* number = nullptr;
  check(BN_dec2bn(&number, text.c_str()));
  return Bignum(number);
}

[[noreturn]] void fail_too_long() {
  fail(ErrorCode::InvalidArgument, "a number of more than {} digits", BigInteger::kMostDigits);
}

// Checks a number by its bits; log10(2) is 0.30103. One digit too many may pass: to_text() counts
// exactly.
void check_bits(double bits) {
  if (bits * 0.30103 > static_cast<double>(BigInteger::kMostDigits) + 1) fail_too_long();
}

std::string to_text(const BIGNUM* number) {
  check_bits(BN_num_bits(number));
  const std::unique_ptr<char, Free> digits(BN_bn2dec(number));
  if (!digits) fail(ErrorCode::LimitExceeded, "no memory for a number");
  std::string text = digits.get();
  if (text == "-0") return "0";
  if (text.size() - (text.starts_with('-') ? 1 : 0) > BigInteger::kMostDigits) fail_too_long();
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 36;
}

}  // namespace

std::optional<BigInteger> BigInteger::parse(std::string_view digits, int base) {
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  const Bignum number = new_number();
  for (const char c : digits) {
    const int digit = digit_of(c);
    if (digit >= base) return std::nullopt;
    check(BN_mul_word(number.get(), static_cast<BN_ULONG>(base)));
    check(BN_add_word(number.get(), static_cast<BN_ULONG>(digit)));
  }
  BN_set_negative(number.get(), negative ? 1 : 0);
  return BigInteger(to_text(number.get()));
}

std::optional<int64_t> BigInteger::small() const {
  int64_t number = 0;
  const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

double BigInteger::number() const {
  return std::strtod(text_.c_str(), nullptr);
}

int BigInteger::compare(const BigInteger& other) const {
  return BN_cmp(to_number(text_).get(), to_number(other.text_).get());
}

BigInteger BigInteger::apply(std::string_view op, const BigInteger& other) const {
  const std::unique_ptr<BN_CTX, Free> context(BN_CTX_new());
  const Bignum a = to_number(text_), b = to_number(other.text_), result = new_number();
  if (op == "+") {
    check(BN_add(result.get(), a.get(), b.get()));
  } else if (op == "-") {
    check(BN_sub(result.get(), a.get(), b.get()));
  } else if (op == "*") {
    check(BN_mul(result.get(), a.get(), b.get(), context.get()));
  } else if (op == "**") {
    if (BN_is_negative(b.get()) != 0) {
      fail(ErrorCode::InvalidArgument, "a negative power of a large number");
    }
    const int bits = BN_num_bits(a.get());
    if (bits > 1) check_bits((bits - 1) * other.number());
    if (bits <= 1) {  // 0, 1 and -1
      const bool flips = BN_is_negative(a.get()) != 0 && BN_is_odd(b.get()) == 0;
      if (BN_is_zero(b.get()) != 0 || flips) return BigInteger(1);
      return *this;
    }
    check(BN_exp(result.get(), a.get(), b.get(), context.get()));
  } else {
    if (BN_is_zero(b.get()) != 0) fail(ErrorCode::InvalidArgument, "division by zero");
    const Bignum remainder = new_number();
    check(BN_div(result.get(), remainder.get(), a.get(), b.get(), context.get()));
    // BN_div rounds toward zero.
    if (BN_is_zero(remainder.get()) == 0 &&
        BN_is_negative(remainder.get()) != BN_is_negative(b.get())) {
      check(BN_sub(result.get(), result.get(), BN_value_one()));
      check(BN_add(remainder.get(), remainder.get(), b.get()));
    }
    if (op == "%") return BigInteger(to_text(remainder.get()));
  }
  return BigInteger(to_text(result.get()));
}

}  // namespace pippin::chat
