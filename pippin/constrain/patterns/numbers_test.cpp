#include "pippin/constrain/patterns/numbers.h"

#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::constrain {
namespace {

Decimal decimal(std::string_view text) {
  return Decimal::parse(text).value();
}

// For numbers that, times 10^12, fit 64 bits.
int64_t scaled(const Decimal& value) {
  int64_t result = 0;
  for (const char digit : value.digits()) result = 10 * result + (digit - '0');
  for (int64_t i = value.point() - static_cast<int64_t>(value.digits().size()); i > -12; --i)
    result *= 10;
  return value.is_negative() ? -result : result;
}

class RandomNumber {
 public:
  explicit RandomNumber(uint32_t seed) : random_(seed) {}
  // Makes numbers as programs write them.
  std::string make() {
    std::string text = below(3) == 0 ? "-" : "";
    if (below(4) == 0) {  // scientific
      const uint32_t first = below(10);
      text += std::to_string(first);
      if (below(2) == 0) text += "." + digits(1 + below(3), first == 0);
      text += below(2) == 0 ? "e" : "E";
      const uint32_t sign = below(3);
      text += sign == 0 ? "+" : sign == 1 ? "-" : "";
      return text + (below(2) == 0 ? "0" : "") + std::to_string(below(6));
    }
    text += std::to_string(below(below(2) == 0 ? 12 : 3000));
    if (below(2) == 0) text += "." + digits(1 + below(4), below(3) == 0);
    return text;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

 private:
  std::string digits(uint32_t count, bool zeros) {
    std::string text;
    while (count-- > 0)
      text += zeros ? '0' : static_cast<char>('0' + below(below(2) == 0 ? 10 : 3));
    return text;
  }
  std::mt19937 random_;
};

TEST(Numbers, BoundsAreThoseOfExactArithmetic) {
  RandomNumber random(3);
  for (int round = 0; round < 120; ++round) {
    RegexPool pool;
    const std::string bound_text = random.make();
    const Decimal bound = decimal(bound_text);
    const RegexId all = json_number(pool), integer = json_integer(pool),
                  ge = at_least(pool, bound, false), gt = at_least(pool, bound, true),
                  le = at_most(pool, bound, false), lt = at_most(pool, bound, true),
                  eq = equal_to(pool, bound);
    for (int i = 0; i < 60; ++i) {
      const std::string text = i == 0 ? bound_text : random.make();
      const int64_t order = scaled(decimal(text)) - scaled(bound);
      ASSERT_TRUE(pool.matches(all, text)) << text;
      ASSERT_EQ(pool.matches(integer, text), decimal(text).is_integer()) << text;
      ASSERT_EQ(pool.matches(ge, text), order >= 0) << text << " >= " << bound_text;
      ASSERT_EQ(pool.matches(gt, text), order > 0) << text << " > " << bound_text;
      ASSERT_EQ(pool.matches(le, text), order <= 0) << text << " <= " << bound_text;
      ASSERT_EQ(pool.matches(lt, text), order < 0) << text << " < " << bound_text;
      ASSERT_EQ(pool.matches(eq, text), order == 0) << text << " == " << bound_text;
    }
    for (const RegexId id : {ge, gt, le, lt, eq, integer})
      ASSERT_TRUE(pool.is_nothing(pool.minus(id, all))) << bound_text;
  }
}

TEST(Numbers, MultiplesAreThoseOfExactArithmetic) {
  RandomNumber random(5);
  for (const std::string divisor_text :
       {"1", "2", "3", "5", "7", "10", "25", "100", "120", "0.5", "0.01", "0.25", "1.5", "0.003",
        "2.5", "4e2", "1e-4", "64"}) {
    const Decimal divisor = decimal(divisor_text);
    RegexPool pool;
    const RegexId multiples = multiple_of(pool, divisor);
    int found = 0;
    for (int i = 0; i < 1200; ++i) {
      const std::string text = random.make();
      const bool wanted = scaled(decimal(text)) % scaled(divisor) == 0;
      found += wanted ? 1 : 0;
      ASSERT_EQ(pool.matches(multiples, text), wanted) << text << " of " << divisor_text;
    }
    EXPECT_GT(found, 10) << divisor_text;
  }
}

TEST(Numbers, PlainOnesAreThoseOfAllWithoutAnExponent) {
  RandomNumber random(7);
  for (int round = 0; round < 20; ++round) {
    RegexPool pool;
    const Decimal bound = decimal(random.make());
    const auto each = [&](Spelling spelling) {
      return std::array{json_number(pool, spelling),
                        json_integer(pool, spelling),
                        at_least(pool, bound, false, spelling),
                        at_most(pool, bound, true, spelling),
                        equal_to(pool, bound, spelling),
                        multiple_of(pool, decimal("2.5"), spelling)};
    };
    const auto any = each(Spelling::Any), plain = each(Spelling::Plain);
    for (int i = 0; i < 40; ++i) {
      const std::string text = random.make();
      const bool is_plain = text.find_first_of("eE") == std::string::npos;
      for (size_t n = 0; n < any.size(); ++n) {
        ASSERT_EQ(pool.matches(plain[n], text), is_plain && pool.matches(any[n], text))
            << n << ' ' << text;
      }
    }
  }
}

TEST(Numbers, HaveNoOtherSpellings) {
  RegexPool pool;
  const RegexId all = json_number(pool);
  for (const std::string text :
       {"", "-", "01", "1.", ".5", "+1", "12e3", "0x1", "1e", "1e1234", "1 ", "NaN", "--1"}) {
    EXPECT_FALSE(pool.matches(all, text)) << text;
  }
  for (const std::string text : {"0", "-0", "0.0", "123456789012345678901234567890", "1e308",
                                 "1.7976931348623157e+308", "5e-324", "1e-07", "0e0"}) {
    EXPECT_TRUE(pool.matches(all, text)) << text;
  }
}

TEST(Numbers, RefusesWhatTakesTooMuch) {
  RegexPool pool;
  EXPECT_ERROR(at_least(pool, decimal("1e1000"), false), ErrorCode::LimitExceeded,
               "a number takes 1001 digits, more than 400");
  EXPECT_ERROR(multiple_of(pool, decimal("0.123456789")), ErrorCode::Unsupported,
               "multiples of 123456789 take an automaton");
  EXPECT_ERROR(multiple_of(pool, decimal("0")), ErrorCode::InvalidArgument,
               "a divisor has to be above 0");
  EXPECT_EQ(Decimal::parse("1e9999999"), std::nullopt);
  EXPECT_EQ(Decimal::parse("01x"), std::nullopt);
}

}  // namespace
}  // namespace pippin::constrain
