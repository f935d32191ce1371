#include "pippin/base/numbers/number.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pippin {
namespace {

constexpr double kUntouched = 42;

struct Case {
  std::string_view text;
  double number = kUntouched;  // kUntouched: rejected
};

void expect_cases(std::initializer_list<Case> cases, std::chars_format format) {
  for (const Case& each : cases) {
    for (const auto parse : {+[](std::string_view text, double&value, std::chars_format how) {
                               return parse_number(text, value, how);
                             },
                             +[](std::string_view text, double&value, std::chars_format how) {
                               return parse_number_by_c(text, value, how);
                             }}) {
      double value = kUntouched;
      EXPECT_EQ(parse(each.text, value, format), each.number != kUntouched) << each.text;
      if (std::isnan(each.number)) {
        EXPECT_TRUE(std::isnan(value)) << each.text;
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(each.number))
            << each.text << " gives " << value;
      }
    }
  }
}

TEST(Number, Integers) {
  int64_t value = 42;
  EXPECT_TRUE(parse_number("-9223372036854775808", value));
  EXPECT_EQ(value, std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(parse_number("ff", value, 16));
  EXPECT_EQ(value, 255);
  for (const std::string_view bad : {"", " 1", "1 ", "+1", "1.0", "9223372036854775808", "x"}) {
    EXPECT_FALSE(parse_number(bad, value)) << bad;
    EXPECT_EQ(value, 255) << bad;
  }
}

TEST(Number, Doubles) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string_view with_zero("1\0", 2);
  expect_cases({{"0", 0.0},
                {"-0", -0.0},
                {"0e9", 0.0},
                {"0.1", 0.1},
                {".5", 0.5},
                {"5.", 5.0},
                {"1e+5", 1e5},
                {"-2.5E-3", -2.5e-3},
                {"9007199254740993", 9007199254740992.0},
                {"1.7976931348623157e308", std::numeric_limits<double>::max()},
                {"1e-310", 1e-310},
                {"4e-324", std::numeric_limits<double>::denorm_min()},
                {"inf", infinity},
                {"-Infinity", -infinity},
                {"NaN", nan},
                {"nan(1)", nan}},
               std::chars_format::general);
  expect_cases({{""},       {"-"},       {"+1"},
                {"-+1"},    {"--1"},     {" 1"},
                {"- 1"},    {"1 "},      {"1e"},
                {"1,5"},    {"0x1"},     {"0X1p3"},
                {"."},      {"e5"},      {"infin"},
                {"none"},   {with_zero}, {"1e400"},
                {"-1e400"}, {"1e-400"},  {"1e99999999999999999999"}},
               std::chars_format::general);
}

TEST(Number, HexadecimalDoubles) {
  expect_cases({{"1.8p3", 12.0},
                {"-a.b", -10.6875},
                {"1", 1.0},
                {"0p5", 0.0},
                {"1.fffffffffffffp1023", std::numeric_limits<double>::max()},
                {"1p-1074", std::numeric_limits<double>::denorm_min()},
                {"inf", std::numeric_limits<double>::infinity()}},
               std::chars_format::hex);
  expect_cases({{""}, {"0x1"}, {"-0x1"}, {"g"}, {"1p"}, {"p1"}, {"1p1024"}, {"1p-1076"}, {"+1"}},
               std::chars_format::hex);
}

// Both functions parse fmt's output to the same double.
TEST(Number, RoundTrips) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const std::string text = fmt::format("{}", number);
    double value = 0, by_c = 0;
    ASSERT_TRUE(parse_number(text, value)) << text;
    ASSERT_TRUE(parse_number_by_c(text, by_c)) << text;
    ASSERT_EQ(value, number) << text;
    ASSERT_EQ(by_c, number) << text;
  }
}

}  // namespace
}  // namespace pippin
