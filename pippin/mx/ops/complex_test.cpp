#include "pippin/mx/ops/complex.h"

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/mx/mx.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

using Complex = std::complex<double>;

std::vector<complex64_t> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1.5f);
  std::vector<complex64_t> result = {{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0.5f, -2}, {-3, 1e-6f}};
  while (result.size() < count) result.push_back({normal(random), normal(random)});
  return result;
}

Complex wide(const complex64_t& z) {
  return {z.real, z.imag};
}

void expect_near(const array& found, const std::vector<Complex>& wanted, const char* what) {
  const auto values = found.to_vector<complex64_t>();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(wanted[i].real()) || !std::isfinite(wanted[i].imag())) continue;
    EXPECT_LE(std::abs(wide(values[i]) - wanted[i]), 1e-5 * (1 + std::abs(wanted[i])))
        << what << " of element " << i << ": " << wanted[i];
  }
}

TEST(Complex, FunctionsAreTheStandardLibrarys) {
  using Of = Complex (*)(const Complex&);
  struct {
    const char* name;
    array (*mine)(const array&);
    Of theirs;
  } const kCases[] = {
      {"exp", exp, [](const Complex& z) { return std::exp(z); }},
      {"log", log, [](const Complex& z) { return std::log(z); }},
      {"sqrt", sqrt, [](const Complex& z) { return std::sqrt(z); }},
      {"square", square, [](const Complex& z) { return z * z; }},
      {"reciprocal", reciprocal, [](const Complex& z) { return 1.0 / z; }},
      {"sin", sin, [](const Complex& z) { return std::sin(z); }},
      {"cos", cos, [](const Complex& z) { return std::cos(z); }},
      {"tan", tan, [](const Complex& z) { return std::tan(z); }},
      {"sinh", sinh, [](const Complex& z) { return std::sinh(z); }},
      {"cosh", cosh, [](const Complex& z) { return std::cosh(z); }},
      {"tanh", tanh, [](const Complex& z) { return std::tanh(z); }},
      {"arcsin", arcsin, [](const Complex& z) { return std::asin(z); }},
      {"arccos", arccos, [](const Complex& z) { return std::acos(z); }},
      {"arctan", arctan, [](const Complex& z) { return std::atan(z); }},
      {"arcsinh", arcsinh, [](const Complex& z) { return std::asinh(z); }},
      {"arccosh", arccosh, [](const Complex& z) { return std::acosh(z); }},
      {"arctanh", arctanh, [](const Complex& z) { return std::atanh(z); }},
      {"conjugate", conjugate, [](const Complex& z) { return std::conj(z); }},
      {"negative", negative, [](const Complex& z) { return -z; }},
  };
  // On the branch cuts, functions have two values: avoid the cuts.
  std::vector<complex64_t> given = numbers(60, 1);
  for (complex64_t& z : given) {
    if (z.imag == 0) z.imag = 0.25f;
    if (z.real == 0) z.real = -0.125f;
  }
  const array z(given, Shape{4, 15});
  for (const auto& each : kCases) {
    for (const bool is_turned : {false, true}) {
      std::vector<Complex> wanted;
      for (const complex64_t& value : given) wanted.push_back(each.theirs(wide(value)));
      const array found = is_turned ? transpose(each.mine(transpose(z))) : each.mine(z);
      expect_near(contiguous(found), wanted, each.name);
    }
  }
}

TEST(Complex, ArithmeticBroadcasts) {
  const std::vector<complex64_t> a = numbers(12, 2), b = numbers(9, 3);
  const array x(a, Shape{12, 1}), y(b, Shape{9});
  std::vector<Complex> sum, product, quotient, power_of;
  for (const complex64_t& u : a) {
    for (const complex64_t& v : b) {
      sum.push_back(wide(u) + wide(v));
      product.push_back(wide(u) * wide(v));
      quotient.push_back(wide(u) / wide(v));
      const bool is_zero = wide(u) == 0.0;
      power_of.push_back(is_zero ? wide(v) == 0.0 ? 1.0 : 0.0 : std::pow(wide(u), wide(v)));
    }
  }
  expect_near(add(x, y), sum, "sum");
  expect_near(multiply(x, y), product, "product");
  expect_near(divide(x, y), quotient, "quotient");
  expect_near(power(x, y), power_of, "power");
  expect_near(matmul(x, reshape(y, {1, 9})), product, "matmul");
  EXPECT_EQ(add(x, array(1)).dtype(), complex64);
}

TEST(Complex, ReductionsAndComparisons) {
  const std::vector<complex64_t> a = numbers(11, 4);
  Complex sum = 0, product = 1;
  for (const complex64_t& z : a) {
    sum += wide(z);
    product *= wide(z);
  }
  const array x(a, Shape{11});
  expect_near(mx::sum(x), {sum}, "sum");
  expect_near(prod(x), {product}, "prod");
  expect_near(mean(x), {sum / 11.0}, "mean");
  expect_near(slice(cumsum(x), {10}, {11}), {sum}, "cumsum");
  EXPECT_EQ(abs(array(complex64_t{3, -4})).item<float>(), 5);
  EXPECT_TRUE(array_equal(x, x).item<bool>());
  EXPECT_TRUE(allclose(x, add(x, array(1e-9f))).item<bool>());
  const float nan = std::nanf("");
  const array odd({complex64_t{nan, 0}, complex64_t{0, INFINITY}, complex64_t{1, 2}});
  EXPECT_EQ(isnan(odd).to_vector<int>(), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(isfinite(odd).to_vector<int>(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(equal(odd, odd).to_vector<int>(), (std::vector<int>{0, 1, 1}));
  const array disordered({complex64_t{2, 1}, complex64_t{nan, 0}, complex64_t{1, 5},
                          complex64_t{2, -1}, complex64_t{1, 4}});
  EXPECT_EQ(argsort(disordered).to_vector<int>(), (std::vector<int>{4, 2, 3, 0, 1}));
  EXPECT_EQ(real(vecdot(array({complex64_t{1, 2}}), array({complex64_t{1, 2}}))).item<float>(), 5);
  EXPECT_ERROR(floor(x), ErrorCode::InvalidArgument, "[floor]");
  EXPECT_ERROR(remainder(x, x), ErrorCode::InvalidArgument, "[remainder]");
}

}  // namespace
}  // namespace pippin::mx
