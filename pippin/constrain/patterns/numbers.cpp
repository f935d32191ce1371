#include "pippin/constrain/patterns/numbers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/digit_boxes.h"

namespace pippin::constrain {

namespace {

constexpr uint32_t kMostFraction = 17;  // digits in scientific form
constexpr int64_t kMostExponent = 999;
constexpr int64_t kMostDigits = 400;
constexpr uint64_t kMostRemainders = 5000;

// The parts of numbers.
class Parts {
 public:
  explicit Parts(RegexPool& pool, Spelling spelling = Spelling::Plain)
      : pool_(pool), spelling_(spelling) {}

  RegexId digit(char first, char last) {
    return pool_.bytes({static_cast<uint8_t>(first), static_cast<uint8_t>(last)});
  }
  RegexId digits(uint32_t least, uint32_t most = RegexPool::kUnlimited) {
    return pool_.repeat(digit('0', '9'), least, most);
  }
  RegexId zeros() { return pool_.repeat(digit('0', '0'), 0); }
  RegexId point() { return pool_.literal("."); }
  RegexId minus() { return pool_.optional(pool_.literal("-")); }
  RegexId join(std::initializer_list<RegexId> parts) {
    return pool_.concat(std::span(parts.begin(), parts.size()));
  }
  RegexId fraction() { return pool_.optional(join({point(), digits(1)})); }
  RegexId zero_fraction() { return pool_.optional(join({point(), digit('0', '0'), zeros()})); }
  RegexId integer() { return pool_.any_of(digit('0', '0'), join({digit('1', '9'), digits(0)})); }

  // Plain numbers without sign.
  RegexId plain() { return join({integer(), fraction()}); }
  RegexId plain_zero() { return join({digit('0', '0'), zero_fraction()}); }

  // e and the exponents of a range; nothing if the spelling is plain.
  RegexId exponent(int64_t first, int64_t last) {
    if (spelling_ == Spelling::Plain) return RegexPool::kNothing;
    first = std::max(first, -kMostExponent);
    last = std::min(last, kMostExponent);
    if (first > last) return RegexPool::kNothing;
    std::vector<RegexId> signed_ones;
    if (last >= 0)
      signed_ones.push_back(
          join({pool_.optional(pool_.literal("+")), padded(std::max<int64_t>(first, 0), last)}));
    if (first <= 0)
      signed_ones.push_back(
          join({pool_.literal("-"), padded(std::max<int64_t>(-last, 0), -first)}));
    return join({letter_e(), pool_.any_of(signed_ones)});
  }
  RegexId any_exponent() { return exponent(-kMostExponent, kMostExponent); }
  RegexId mantissa() {  // nonzero
    return join({digit('1', '9'), pool_.optional(join({point(), digits(1, kMostFraction)}))});
  }
  RegexId scientific() { return join({mantissa(), any_exponent()}); }
  RegexId scientific_zero() {
    return join({digit('0', '0'),
                 pool_.optional(join({point(), pool_.repeat(digit('0', '0'), 1, kMostFraction)})),
                 any_exponent()});
  }
  RegexId zero() { return pool_.any_of(plain_zero(), scientific_zero()); }

  // Limits a mantissa to 17 digits after the point.
  RegexId mantissa_like(RegexId text) { return pool_.all_of(text, mantissa()); }

 private:
  RegexId letter_e() {
    ByteSet set('e', 'e');
    set.add('E');
    return pool_.bytes(set);
  }
  // One to three digits, with leading zeros.
  RegexId padded(int64_t first, int64_t last) {
    std::vector<RegexId> alternatives;
    uint64_t largest = 9;
    for (int count = 1; count <= 3; ++count, largest = 10 * largest + 9) {
      const uint64_t to = std::min(static_cast<uint64_t>(last), largest);
      for (const DigitBox& box : digit_boxes(static_cast<uint64_t>(first), to, count, 10)) {
        RegexId text = RegexPool::kEmpty;
        for (size_t i = box.size(); i-- > 0;) {
          text = pool_.concat(
              digit(static_cast<char>('0' + box[i].first), static_cast<char>('0' + box[i].second)),
              text);
        }
        alternatives.push_back(text);
      }
    }
    return pool_.any_of(alternatives);
  }

  RegexPool& pool_;
  Spelling spelling_;
};

enum class Order { Less, Greater };

// Adds the digit strings of the length of `digits`, followed by `tail`, that are less or greater.
void add_other_digits(RegexPool& pool, Parts& parts, std::string_view digits, char lowest_first,
                      Order order, RegexId tail, bool fixed_length, std::vector<RegexId>& out) {
  for (size_t i = 0; i < digits.size(); ++i) {
    const char lowest = i == 0 ? lowest_first : '0';
    const char from = order == Order::Less ? lowest : static_cast<char>(digits[i] + 1);
    const char to = order == Order::Less ? static_cast<char>(digits[i] - 1) : '9';
    if (from > to) continue;
    const auto left = static_cast<uint32_t>(digits.size() - 1 - i);
    const RegexId rest = fixed_length ? parts.digits(left, left) : parts.digits(0);
    out.push_back(
        parts.join({pool.literal(digits.substr(0, i)), parts.digit(from, to), rest, tail}));
  }
}

// Returns the rest of numbers with an equal integer part: the point and fraction, if any.
RegexId fraction_compared(RegexPool& pool, Parts& parts, const std::string& fraction, Order order,
                          bool exclusive) {
  std::vector<RegexId> out;
  if (order == Order::Greater) {
    if (fraction.empty()) {
      if (!exclusive) return parts.fraction();
      return parts.join({parts.point(), parts.digits(0), parts.digit('1', '9'), parts.digits(0)});
    }
    add_other_digits(pool, parts, fraction, '0', order, RegexPool::kEmpty, false, out);
    const RegexId more = exclusive
                             ? parts.join({parts.digits(0), parts.digit('1', '9'), parts.digits(0)})
                             : parts.digits(0);
    out.push_back(parts.join({pool.literal(fraction), more}));
    return parts.join({parts.point(), pool.any_of(out)});
  }
  if (fraction.empty()) return exclusive ? RegexPool::kNothing : parts.zero_fraction();
  add_other_digits(pool, parts, fraction, '0', order, RegexPool::kEmpty, false, out);
  for (size_t length = 1; length < fraction.size(); ++length)
    out.push_back(pool.literal(fraction.substr(0, length)));
  if (!exclusive) out.push_back(parts.join({pool.literal(fraction), parts.zeros()}));
  return pool.optional(parts.join({parts.point(), pool.any_of(out)}));
}

RegexId plain_compared(RegexPool& pool, Parts& parts, const Decimal& bound, Order order,
                       bool exclusive) {
  const std::string integer = bound.integer_digits(), fraction = bound.fraction_digits();
  const auto length = static_cast<uint32_t>(integer.size());
  std::vector<RegexId> out;
  if (order == Order::Greater) {
    out.push_back(parts.join({parts.digit('1', '9'), parts.digits(length), parts.fraction()}));
  } else if (length > 1) {
    out.push_back(
        parts.join({pool.any_of(parts.digit('0', '0'),
                                parts.join({parts.digit('1', '9'), parts.digits(0, length - 2)})),
                    parts.fraction()}));
  }
  add_other_digits(pool, parts, integer, length > 1 ? '1' : '0', order, parts.fraction(), true,
                   out);
  out.push_back(parts.join(
      {pool.literal(integer), fraction_compared(pool, parts, fraction, order, exclusive)}));
  return pool.any_of(out);
}

RegexId scientific_compared(RegexPool& pool, Parts& parts, const Decimal& bound, Order order,
                            bool exclusive) {
  if (bound.is_zero()) return order == Order::Greater ? parts.scientific() : RegexPool::kNothing;
  const int64_t exponent = bound.point() - 1;
  const std::string first = bound.digits().substr(0, 1), rest = bound.digits().substr(1);
  std::vector<RegexId> out, same;
  out.push_back(parts.join({parts.mantissa(), order == Order::Greater
                                                  ? parts.exponent(exponent + 1, kMostExponent)
                                                  : parts.exponent(-kMostExponent, exponent - 1)}));
  add_other_digits(pool, parts, first, '1', order, parts.fraction(), true, same);
  same.push_back(
      parts.join({pool.literal(first), fraction_compared(pool, parts, rest, order, exclusive)}));
  out.push_back(
      parts.join({parts.mantissa_like(pool.any_of(same)), parts.exponent(exponent, exponent)}));
  return pool.any_of(out);
}

// Returns unsigned numbers, including zero, that are at least or at most a nonnegative bound.
RegexId compared(RegexPool& pool, Parts& parts, const Decimal& bound, Order order, bool exclusive) {
  std::vector<RegexId> out{plain_compared(pool, parts, bound, order, exclusive),
                           scientific_compared(pool, parts, bound, order, exclusive)};
  const bool has_zero =
      order == Order::Less ? !(bound.is_zero() && exclusive) : bound.is_zero() && !exclusive;
  if (has_zero) out.push_back(parts.scientific_zero());
  return pool.any_of(out);
}

void check_digits(const Decimal& bound) {
  const int64_t most =
      std::max<int64_t>({static_cast<int64_t>(bound.digits().size()), bound.point(), 0}) -
      std::min<int64_t>(bound.point(), 0);
  if (most > kMostDigits) {
    fail(ErrorCode::LimitExceeded, "a number takes {} digits, more than {}", most, kMostDigits);
  }
}

RegexId bounded(RegexPool& pool, const Decimal& bound, Order order, bool exclusive,
                Spelling spelling) {
  check_digits(bound);
  Parts parts(pool, spelling);
  const bool same_side = bound.is_zero() || bound.is_negative() == (order == Order::Less);
  const RegexId minus = pool.literal("-");
  // Greater than 3: the positive numbers beyond it. Greater than -3: the negative numbers up to it,
  // and all nonnegative ones.
  const RegexId positive_side = order == Order::Greater ? RegexPool::kEmpty : minus;
  const RegexId other_side = order == Order::Greater ? minus : RegexPool::kEmpty;
  const Decimal magnitude = bound.magnitude();
  if (same_side) {
    const RegexId beyond =
        parts.join({positive_side, compared(pool, parts, magnitude, Order::Greater, exclusive)});
    if (!bound.is_zero() || exclusive) return beyond;
    return pool.any_of(beyond, parts.join({parts.minus(), parts.zero()}));
  }
  const RegexId up_to =
      parts.join({other_side, compared(pool, parts, magnitude, Order::Less, exclusive)});
  const RegexId all = parts.join(
      {positive_side,
       pool.any_of(std::array{parts.plain(), parts.scientific(), parts.scientific_zero()})});
  return pool.any_of(up_to, all);
}

}  // namespace

RegexId json_number(RegexPool& pool, Spelling spelling) {
  Parts parts(pool, spelling);
  return parts.join({parts.minus(), pool.any_of(std::array{parts.plain(), parts.scientific(),
                                                           parts.scientific_zero()})});
}

namespace {

RegexId written(RegexPool& pool, uint32_t most, bool has_fraction) {
  Parts parts(pool);
  const RegexId fraction =
      has_fraction ? parts.join({parts.point(), parts.digits(0, most), parts.digit('1', '9')})
                   : RegexPool::kNothing;
  const RegexId large =
      parts.join({parts.digit('1', '9'), parts.digits(0, most), pool.optional(fraction)});
  const RegexId small = parts.join({parts.digit('0', '0'), fraction});
  return pool.any_of(parts.digit('0', '0'), parts.join({parts.minus(), pool.any_of(large, small)}));
}

constexpr uint32_t kMostWritten = 19;  // digits after the first

}  // namespace

RegexId written_number(RegexPool& pool) {
  return written(pool, kMostWritten, true);
}
RegexId written_integer(RegexPool& pool) {
  return written(pool, kMostWritten, false);
}
RegexId plainly_written(RegexPool& pool) {
  return written(pool, RegexPool::kUnlimited, true);
}

RegexId json_integer(RegexPool& pool, Spelling spelling) {
  Parts parts(pool, spelling);
  std::vector<RegexId> out{parts.join({parts.integer(), parts.zero_fraction()}),
                           parts.scientific_zero()};
  // The exponent is at least the number of digits after the point.
  for (uint32_t digits = 0; spelling == Spelling::Any && digits <= kMostFraction; ++digits) {
    const RegexId behind = digits == 0
                               ? parts.zero_fraction()
                               : parts.join({parts.point(), parts.digits(digits - 1, digits - 1),
                                             parts.digit('1', '9'), parts.zeros()});
    out.push_back(parts.join({parts.mantissa_like(parts.join({parts.digit('1', '9'), behind})),
                              parts.exponent(digits, kMostExponent)}));
  }
  return parts.join({parts.minus(), pool.any_of(out)});
}

RegexId at_least(RegexPool& pool, const Decimal& bound, bool exclusive, Spelling spelling) {
  return bounded(pool, bound, Order::Greater, exclusive, spelling);
}
RegexId at_most(RegexPool& pool, const Decimal& bound, bool exclusive, Spelling spelling) {
  return bounded(pool, bound, Order::Less, exclusive, spelling);
}

RegexId equal_to(RegexPool& pool, const Decimal& value, Spelling spelling) {
  check_digits(value);
  Parts parts(pool, spelling);
  if (value.is_zero()) return parts.join({parts.minus(), parts.zero()});
  const std::string fraction = value.fraction_digits();
  const RegexId behind = fraction.empty()
                             ? parts.zero_fraction()
                             : parts.join({parts.point(), pool.literal(fraction), parts.zeros()});
  std::vector<RegexId> out{parts.join({pool.literal(value.integer_digits()), behind})};
  const std::string rest = value.digits().substr(1);
  const RegexId mantissa =
      parts.join({pool.literal(value.digits().substr(0, 1)),
                  rest.empty() ? parts.zero_fraction()
                               : parts.join({parts.point(), pool.literal(rest), parts.zeros()})});
  out.push_back(parts.join(
      {parts.mantissa_like(mantissa), parts.exponent(value.point() - 1, value.point() - 1)}));
  return parts.join(
      {value.is_negative() ? pool.literal("-") : RegexPool::kEmpty, pool.any_of(out)});
}

namespace {

// Matches digits, with a point anywhere after the first, that form a multiple of `divisor` without
// the point; no other property of the shape is checked.
RegexId digit_multiples(RegexPool& pool, uint64_t divisor) {
  if (divisor == 1) return RegexPool::kAnything;
  if (divisor > kMostRemainders) {
    fail(ErrorCode::Unsupported, "multiples of {} take an automaton of more than {} states",
         divisor, kMostRemainders);
  }
  RegexPool::Automaton automaton;
  automaton.next.resize(divisor);
  automaton.accepting.resize(divisor);
  automaton.accepting[0] = true;
  for (uint64_t remainder = 0; remainder < divisor; ++remainder) {
    auto& next = automaton.next[remainder];
    next.fill(RegexPool::kNowhere);
    next['.'] = static_cast<uint32_t>(remainder);
    for (uint64_t digit = 0; digit < 10; ++digit)
      next['0' + digit] = static_cast<uint32_t>((10 * remainder + digit) % divisor);
  }
  return pool.automaton(automaton);
}

}  // namespace

RegexId multiple_of(RegexPool& pool, const Decimal& divisor, Spelling spelling) {
  check_digits(divisor);
  // divisor = number / 10^places; number is an integer, without trailing zeros unless places is 0.
  const int64_t places = static_cast<int64_t>(divisor.digits().size()) - divisor.point();
  if (divisor.is_zero() || divisor.is_negative())
    fail(ErrorCode::InvalidArgument, "a divisor has to be above 0");
  if (divisor.digits().size() > 18) {
    fail(ErrorCode::Unsupported, "multiples of a number of {} digits, more than 18",
         divisor.digits().size());
  }
  const uint64_t number = std::stoull(divisor.digits());
  Parts parts(pool, spelling);
  // Plain: at most `places` digits after the point, then zeros. If the divisor ends in zeros, so
  // does the number.
  std::vector<RegexId> plain{parts.plain_zero()};
  const auto add_plain = [&](int64_t behind) {  // exactly this many significant digits after the
                                                // point
    // Omitted digits are zeros, which cancel factors of the divisor.
    uint64_t rest = number;
    for (int64_t i = behind; i < places; ++i) rest /= std::gcd(rest, uint64_t{10});
    RegexId shape = parts.integer();
    if (behind > 0) {
      shape =
          parts.join({shape, parts.point(),
                      parts.digits(static_cast<uint32_t>(behind), static_cast<uint32_t>(behind))});
    }
    const RegexId matched = pool.all_of(shape, digit_multiples(pool, rest));
    plain.push_back(parts.join({matched, behind > 0 ? parts.zeros() : parts.zero_fraction()}));
  };
  if (places <= 0) {
    const auto trailing = static_cast<uint32_t>(-places);
    const RegexId ahead = pool.all_of(parts.join({parts.digit('1', '9'), parts.digits(0)}),
                                      digit_multiples(pool, number));
    plain.push_back(
        parts.join({ahead, pool.literal(std::string(trailing, '0')), parts.zero_fraction()}));
  } else {
    for (int64_t behind = 0; behind <= places; ++behind) add_plain(behind);
  }
  // Scientific, d.ddd e E with f digits up to the last nonzero one: the integer of the digits times
  // 10^(E - f + places) must be a multiple of `number`, so the power must not be negative.
  std::vector<RegexId> scientific{parts.scientific_zero()};
  std::vector<uint64_t> left{number};  // remaining divisor, by power of ten
  while (true) {
    const uint64_t next = left.back() / std::gcd(left.back(), uint64_t{10});
    if (next == left.back()) break;
    left.push_back(next);
  }
  for (uint32_t f = 0; spelling == Spelling::Any && f <= kMostFraction; ++f) {
    const RegexId behind = f == 0 ? parts.zero_fraction()
                                  : parts.join({parts.point(), parts.digits(f - 1, f - 1),
                                                parts.digit('1', '9'), parts.zeros()});
    const RegexId shape = parts.mantissa_like(parts.join({parts.digit('1', '9'), behind}));
    for (size_t power = 0; power < left.size(); ++power) {
      const int64_t exponent = static_cast<int64_t>(power) + f - places;
      const bool is_last = power + 1 == left.size();
      const RegexId exponents = parts.exponent(exponent, is_last ? kMostExponent : exponent);
      if (exponents == RegexPool::kNothing) continue;
      // Trailing zeros of the mantissa would count as powers, so they are not part of the digits.
      const RegexId digits =
          f == 0
              ? parts.join({pool.all_of(parts.digit('1', '9'), digit_multiples(pool, left[power])),
                            parts.zero_fraction()})
              : parts.join(
                    {pool.all_of(parts.join({parts.digit('1', '9'), parts.point(),
                                             parts.digits(f - 1, f - 1), parts.digit('1', '9')}),
                                 digit_multiples(pool, left[power])),
                     parts.zeros()});
      scientific.push_back(parts.join({pool.all_of(shape, digits), exponents}));
    }
  }
  plain.insert(plain.end(), scientific.begin(), scientific.end());
  return parts.join({parts.minus(), pool.any_of(plain)});
}

}  // namespace pippin::constrain
