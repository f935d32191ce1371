#include "pippin/chat/big_integer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::chat {
namespace {

std::string apply(const char* a, const char* op, const char* b) {
  return BigInteger::parse(a)->apply(op, *BigInteger::parse(b)).text();
}

// Expected values from Python.
TEST(BigInteger, ComputesAsPython) {
  EXPECT_EQ(apply("9223372036854775807", "+", "1"), "9223372036854775808");
  EXPECT_EQ(apply("-9223372036854775808", "-", "1"), "-9223372036854775809");
  EXPECT_EQ(apply("99999999999999999999", "*", "-99999999999999999999"),
            "-9999999999999999999800000000000000000001");
  EXPECT_EQ(apply("-10000000000000000000", "//", "3"), "-3333333333333333334");
  EXPECT_EQ(apply("-10000000000000000000", "%", "3"), "2");
  EXPECT_EQ(apply("10000000000000000000", "%", "-3"), "-2");
  EXPECT_EQ(apply("10000000000000000000", "//", "-3"), "-3333333333333333334");
  EXPECT_EQ(apply("-9223372036854775808", "//", "-1"), "9223372036854775808");
  EXPECT_EQ(apply("-6", "%", "-1"), "0");
  EXPECT_EQ(apply("2", "**", "100"), "1267650600228229401496703205376");
  EXPECT_EQ(apply("-3", "**", "41"), "-36472996377170786403");
  EXPECT_EQ(apply("-1", "**", "99999999999999999999"), "-1");
  EXPECT_EQ(apply("-1", "**", "99999999999999999998"), "1");
  EXPECT_EQ(apply("0", "**", "0"), "1");
}

TEST(BigInteger, ParsesBasesAndRefusesTheRest) {
  EXPECT_EQ(BigInteger::parse("ffffFFFFffffFFFFf", 16)->text(), "295147905179352825855");
  EXPECT_EQ(BigInteger::parse("+007")->text(), "7");
  EXPECT_EQ(BigInteger::parse("-0")->text(), "0");
  EXPECT_EQ(BigInteger::parse("-9223372036854775808")->small(), INT64_MIN);
  EXPECT_EQ(BigInteger::parse("9223372036854775808")->small(), std::nullopt);
  for (const char* wrong : {"", "-", "1.5", "1e3", "12a", "--1", " 1"}) {
    EXPECT_FALSE(BigInteger::parse(wrong)) << wrong;
  }
  EXPECT_TRUE(BigInteger::parse(std::string(BigInteger::kMostDigits, '9')));
  EXPECT_FALSE(BigInteger::parse(std::string(BigInteger::kMostDigits + 1, '9')));
}

TEST(BigInteger, ComparesAndRounds) {
  EXPECT_LT(BigInteger::parse("-99999999999999999999")->compare(BigInteger(1)), 0);
  EXPECT_EQ(BigInteger::parse("18446744073709551616")->number(), 0x1p64);
  EXPECT_EQ(BigInteger::parse(std::string(400, '9'))->number(), INFINITY);
}

TEST(BigInteger, StopsAtPythonsLimit) {
  const auto refused = [](const char* a, const char* op, const char* b, const char* message) {
    EXPECT_ERROR(apply(a, op, b), ErrorCode::InvalidArgument, message);
  };
  refused("10", "**", "4301", "a number of more than 4300 digits");
  refused("10", "**", "99999999999", "a number of more than 4300 digits");
  refused("7", "//", "0", "division by zero");
  refused("7", "%", "0", "division by zero");
}

}  // namespace
}  // namespace pippin::chat
