#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

struct UnaryCase {
  const char* name;
  array (*op)(const array&);
  double (*reference)(double);
};
const UnaryCase kReal[] = {
    {"arccos", arccos, std::acos},
    {"arccosh", arccosh, std::acosh},
    {"arcsin", arcsin, std::asin},
    {"arcsinh", arcsinh, std::asinh},
    {"arctan", arctan, std::atan},
    {"arctanh", arctanh, std::atanh},
    {"ceil", ceil, std::ceil},
    {"cos", cos, std::cos},
    {"cosh", cosh, std::cosh},
    {"erf", erf, std::erf},
    {"exp", exp, std::exp},
    {"expm1", expm1, std::expm1},
    {"floor", floor, std::floor},
    {"log", log, std::log},
    {"log10", log10, std::log10},
    {"log1p", log1p, std::log1p},
    {"log2", log2, std::log2},
    {"round", [](const array& a) { return round(a); }, std::nearbyint},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"sin", sin, std::sin},
    {"sinh", sinh, std::sinh},
    {"sqrt", sqrt, std::sqrt},
    {"tan", tan, std::tan},
    {"tanh", tanh, std::tanh},
    {"trunc", trunc, std::trunc},
    {"abs", abs, [](double x) { return std::fabs(x); }},
    {"negative", negative, [](double x) { return -x; }},
    {"square", square, [](double x) { return x * x; }},
    {"isnan", isnan, [](double x) -> double { return std::isnan(x); }},
    {"isinf", isinf, [](double x) -> double { return std::isinf(x); }},
    {"isfinite", isfinite, [](double x) -> double { return std::isfinite(x); }},
};

TEST(Unary, AgreesWithTheMathematicsInAllFloatsAndLayouts) {
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    const array x = ugly({7, 3, 5}, dtype, 11);
    for (const UnaryCase& c : kReal) {
      for (const array& layout : layouts(x)) {
        const array y = c.op(layout);
        std::vector<double> expected;
        for (const double value : numbers(x)) {
          expected.push_back(rounded(c.reference(value), y.dtype()));
        }
        const std::string what = std::string(c.name) + " of " + std::string(to_string(dtype));
        // cos and sin of 65504 are only as accurate as the argument's last bit.
        expect_numbers(y, expected, tolerance(dtype), what, dtype == float32 ? 4e-6 : 1e-3);
      }
    }
  }
}

TEST(Unary, WorksOnLongAndEmptyArrays) {
  const array x = normal_array({100'003}, float32, 2);
  std::vector<double> expected;
  for (const double value : numbers(x)) expected.push_back(std::exp(value));
  expect_numbers(exp(x), expected, 2e-6, "exp");
  expect_numbers(exp(broadcast_to(array(1.0f), {50'000})),
                 std::vector<double>(50'000, std::exp(1.0)), 1e-6, "exp of one number");
  EXPECT_EQ(exp(zeros({0, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(exp(zeros({0, 3})).to_vector<float>().size(), 0U);
}

TEST(Unary, KeepsIntegers) {
  for (const Dtype dtype : {int8, int16, int32, int64}) {
    const IntegerInfo info = iinfo(dtype);
    const int64_t values[] = {info.min, -3, 0, 5, static_cast<int64_t>(info.max)};
    const array x(values, int64, {5}, dtype);
    EXPECT_EQ(negative(x).to_vector<int64_t>()[0], info.min) << "wraps";
    EXPECT_EQ(abs(x).to_vector<int64_t>()[1], 3);
    EXPECT_EQ(sign(x).to_vector<int64_t>(), std::vector<int64_t>({-1, -1, 0, 1, 1}));
    EXPECT_EQ(bitwise_invert(x).to_vector<int64_t>()[1], 2);
    EXPECT_EQ(floor(x).dtype(), dtype);
    EXPECT_EQ(exp(x).dtype(), float32);
  }
  EXPECT_EQ(negative(array({1}, uint8)).item<int>(), 255);
  EXPECT_EQ(logical_not(array({0, 3})).to_vector<int>(), std::vector<int>({1, 0}));
  EXPECT_ERROR(negative(array(true)), ErrorCode::InvalidArgument, "[negative]");
  EXPECT_ERROR(bitwise_invert(array(1.0f)), ErrorCode::InvalidArgument, "[bitwise_invert]");
}

TEST(Unary, InvertsErf) {
  std::vector<double> values;
  for (int i = -99; i < 100; ++i) values.push_back(i / 100.0);
  const array x(values, {199}, float64);
  expect_numbers(erf(erfinv(x)), values, 1e-12, "erf of erfinv", 1e-15);
  EXPECT_EQ(erfinv(array(1.0f)).item<float>(), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(erfinv(array(2.0f)).item<float>()));
}

double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double with_nan(double a, double b, double value) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : value;
}

struct BinaryCase {
  const char* name;
  array (*op)(const array&, const array&);
  double (*reference)(double, double);
};
const BinaryCase kBinary[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"subtract", subtract, [](double a, double b) { return a - b; }},
    {"multiply", multiply, [](double a, double b) { return a * b; }},
    {"divide", divide, [](double a, double b) { return a / b; }},
    {"remainder", remainder, floor_mod},
    {"maximum", maximum, [](double a, double b) { return with_nan(a, b, std::fmax(a, b)); }},
    {"minimum", minimum, [](double a, double b) { return with_nan(a, b, std::fmin(a, b)); }},
    {"power", power, [](double a, double b) { return std::pow(a, b); }},
    {"arctan2", arctan2, [](double a, double b) { return std::atan2(a, b); }},
    {"equal", equal, [](double a, double b) -> double { return a == b; }},
    {"not_equal", not_equal, [](double a, double b) -> double { return a != b; }},
    {"less", less, [](double a, double b) -> double { return a < b; }},
    {"less_equal", less_equal, [](double a, double b) -> double { return a <= b; }},
    {"greater", greater, [](double a, double b) -> double { return a > b; }},
    {"greater_equal", greater_equal, [](double a, double b) -> double { return a >= b; }},
    {"logical_and", logical_and, [](double a, double b) -> double { return a != 0 && b != 0; }},
    {"logical_or", logical_or, [](double a, double b) -> double { return a != 0 || b != 0; }},
};

std::vector<double> broadcast_reference(const array& a, const array& b, const Shape& shape,
                                        double (*reference)(double, double)) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  std::vector<double> result;
  each_index(shape, [&](const Shape& index) {
    result.push_back(reference(x[place_of(a.shape(), index)], y[place_of(b.shape(), index)]));
  });
  return result;
}

TEST(Binary, AgreesWithTheMathematicsInAllFloatsShapesAndLayouts) {
  const std::pair<Shape, Shape> shapes[] = {{{4, 3, 5}, {4, 3, 5}}, {{4, 3, 5}, {5}},
                                            {{4, 1, 5}, {3, 1}},    {{}, {2, 3}},
                                            {{2, 3}, {1, 1, 1}},    {{0, 3}, {1, 3}}};
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    for (const auto& [left, right] : shapes) {
      const array a = ugly(left, dtype, 1), b = ugly(right, dtype, 2);
      for (const BinaryCase& c : kBinary) {
        const Shape shape = broadcast_shapes("test", left, right);
        for (const array& x : layouts(a)) {
          for (const array& y : {b, layouts(b).back()}) {
            const array z = c.op(x, y);
            ASSERT_EQ(z.shape(), shape);
            std::vector<double> expected = broadcast_reference(a, b, shape, c.reference);
            for (double& value : expected) value = rounded(value, z.dtype());
            const std::string what = std::string(c.name) + " of " + std::string(to_string(dtype)) +
                                     to_string(left) + to_string(right);
            expect_numbers(z, expected, tolerance(dtype), what, 1e-6);
          }
        }
      }
    }
  }
}

TEST(Binary, WrapsIntegersAndRoundsQuotientsDown) {
  for (const Dtype dtype : {uint8, uint16, uint32, uint64, int8, int16, int32, int64}) {
    const array a = ugly({40}, dtype, 3), b = ugly({40}, dtype, 4);
    const auto x = a.to_vector<int64_t>(), y = b.to_vector<int64_t>();
    const auto sums = add(a, b).to_vector<int64_t>();
    const auto products = multiply(a, b).to_vector<int64_t>();
    const auto quotients = floor_divide(a, b).to_vector<int64_t>();
    const auto rests = remainder(a, b).to_vector<int64_t>();
    for (size_t i = 0; i < x.size(); ++i) {
      const auto u = static_cast<uint64_t>(x[i]), v = static_cast<uint64_t>(y[i]);
      const auto wrapped = [dtype](uint64_t bits) {
        return array(static_cast<int64_t>(bits), dtype).item<int64_t>();
      };
      EXPECT_EQ(sums[i], wrapped(u + v));
      EXPECT_EQ(products[i], wrapped(u * v));
      if (v == 0) {
        EXPECT_EQ(quotients[i], 0);
        EXPECT_EQ(rests[i], 0);
        continue;
      }
      const auto expected =
          static_cast<uint64_t>(quotients[i]) * v + static_cast<uint64_t>(rests[i]);
      EXPECT_EQ(wrapped(expected), x[i]) << to_string(dtype) << x[i] << " // " << y[i];
      if (dtype != uint64) {
        EXPECT_TRUE(rests[i] == 0 || (rests[i] < 0) == (y[i] < 0));
      }
    }
  }
  EXPECT_EQ(power(array({2, 3, -1, 7}), array({10, 0, -3, -1})).to_vector<int>(),
            std::vector<int>({1024, 1, -1, 0}));
  EXPECT_EQ(left_shift(array({1, 1}), array({4, 40})).to_vector<int>(), std::vector<int>({16, 0}));
  EXPECT_EQ(right_shift(array({-8, 8}), array({1, 99})).to_vector<int>(),
            std::vector<int>({-4, 0}));
  EXPECT_EQ(bitwise_xor(array({5}, uint8), array({3}, uint8)).item<int>(), 6);
  EXPECT_EQ(divide(array(1), array(2)).item<float>(), 0.5f);
}

TEST(Binary, RefusesWhatCannotBe) {
  EXPECT_ERROR(add(zeros({2, 3}), zeros({4})), ErrorCode::InvalidArgument,
               "[add] Shapes (2,3) and (4,) cannot be broadcast.");
  EXPECT_ERROR(bitwise_and(zeros({2}), zeros({2})), ErrorCode::InvalidArgument, "[bitwise_and]");
  EXPECT_ERROR(floor(zeros({2}, complex64)), ErrorCode::InvalidArgument, "complex64");
}

TEST(Binary, AddsLogarithms) {
  const float inf = std::numeric_limits<float>::infinity();
  const array a({0.0f, -inf, inf, -inf, 100.0f}), b({0.0f, 1.0f, 1.0f, -inf, 0.0f});
  expect_numbers(logaddexp(a, b), {std::log(2.0), 1, inf, -inf, 100}, 1e-6, "logaddexp");
}

TEST(Where, ChoosesInAllTypesAndLayouts) {
  for (const Dtype dtype : kComputed) {
    const array condition = ugly({3, 1, 4}, bool_, 1);
    const array a = ugly({3, 5, 4}, dtype, 2), b = ugly({5, 1}, dtype, 3);
    const std::vector<double> c = numbers(condition), x = numbers(a), y = numbers(b);
    std::vector<double> expected;
    each_index({3, 5, 4}, [&](const Shape& index) {
      expected.push_back(c[place_of({3, 1, 4}, index)] != 0 ? x[place_of({3, 5, 4}, index)]
                                                            : y[place_of({5, 1}, index)]);
    });
    for (const array& layout : layouts(a)) {
      expect_numbers(where(condition, layout, b), expected, 0, "where");
    }
  }
}

TEST(Where, ClipsAndCompares) {
  EXPECT_EQ(clip(array({-2.0f, 0.5f, 9.0f}), array(0.0f), array(1.0f)).to_vector<float>(),
            std::vector<float>({0, 0.5f, 1}));
  EXPECT_TRUE(allclose(array({1.0f, 2.0f}), array({1.0f, 2.000001f})).item<bool>());
  EXPECT_FALSE(array_equal(array({1, 2}), array({1, 3})).item<bool>());
  EXPECT_FALSE(array_equal(array({1, 2}), array({1, 2, 3})).item<bool>());
  EXPECT_EQ(nan_to_num(array({std::nanf(""), 1.0f}), 5).to_vector<float>(),
            std::vector<float>({5, 1}));
}

}  // namespace
}  // namespace pippin::mx
