#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

constexpr double kNaN = NAN, kInf = INFINITY;

TEST(Elementwise, Broadcasts) {
  const Tensor column = floats({2, 1}, {10, 20}), row = floats({3}, {1, 2, 3});
  expect_tensor(run_one("add", {{"x", {column}}, {"y", {row}}}), {2, 3}, {11, 12, 13, 21, 22, 23});
  expect_tensor(run_one("sub", {{"x", {floats({}, {5})}}, {"y", {floats({}, {7})}}}), {}, {-2});
  // An axis of size 0 stays empty.
  expect_tensor(run_one("mul", {{"x", {floats({0, 1}, {})}}, {"y", {row}}}), {0, 3}, {});
  EXPECT_EQ(error_code_of([&] {
              run_one("add", {{"x", {floats({2}, {1, 2})}}, {"y", {row}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Elementwise, IntegerDivision) {
  const Tensor x = ints({7, -7, 7, -7}), y = ints({2, 2, -2, -2});
  expect_tensor(run_one("real_div", {{"x", {x}}, {"y", {y}}}), {4}, {3, -3, -3, 3});
  expect_tensor(run_one("floor_div", {{"x", {x}}, {"y", {y}}}), {4}, {3, -4, -4, 3});
  expect_tensor(run_one("mod", {{"x", {x}}, {"y", {y}}}), {4}, {1, 1, -1, -1});
}

TEST(Elementwise, TypesMustAgree) {
  EXPECT_EQ(error_code_of([] {
              run_one("add", {{"x", {ints({1})}}, {"y", {floats({1}, {1})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Elementwise, ResultsAreRoundedToTheirType) {
  const Tensor x = numbers(DataType::Float16, {3}, {2048, 60000, -60000});
  const Tensor y = numbers(DataType::Float16, {3}, {1, 10000, -10000});
  expect_tensor(run_one("add", {{"x", {x}}, {"y", {y}}}), {3}, {2048, kInf, -kInf});
}

TEST(Elementwise, SelectHidesWhatIsNotChosen) {
  const Tensor result = run_one("select", {{"cond", {bools({1, 0, 1})}},
                                           {"a", {floats({3}, {1, kNaN, kInf})}},
                                           {"b", {floats({1}, {-kInf})}}});
  expect_tensor(result, {3}, {1, -kInf, kInf});
  // All three broadcast.
  expect_tensor(run_one("select", {{"cond", {numbers(DataType::Bool, {2, 1}, {1, 0})}},
                                   {"a", {ints({1, 2})}},
                                   {"b", {ints({}, {9})}}}),
                {2, 2}, {1, 2, 9, 9});
}

TEST(Elementwise, EpsilonDefaultsTakeTheTypeOfX) {
  const auto log_of_zero = [](DataType type) {
    return run_one("log", {{"x", {numbers(type, {1}, {0})}}}).values[0];
  };
  EXPECT_NEAR(log_of_zero(DataType::Float32), -103.28, 0.01);
  EXPECT_EQ(log_of_zero(DataType::Float16), -kInf);
  expect_tensor(run_one("inverse", {{"x", {floats({1}, {0})}}}), {1}, {10000});
  // An fp32 epsilon next to an fp16 x is not rounded.
  expect_tensor(run_one("rsqrt", {{"x", {numbers(DataType::Float16, {1}, {0})}},
                                  {"epsilon", {floats({}, {1e-6})}}}),
                {1}, {1000});
}

TEST(Elementwise, Casts) {
  const Tensor x = floats({5}, {-1.9, 1.9, 0, 300, -0.5});
  expect_tensor(run_one("cast", {{"x", {x}}, {"dtype", {text("int32")}}}), {5}, {-1, 1, 0, 300, 0});
  expect_tensor(run_one("cast", {{"x", {x}}, {"dtype", {text("bool")}}}), {5}, {1, 1, 0, 1, 1});
  expect_tensor(run_one("cast", {{"x", {ints({40000, -1})}}, {"dtype", {text("int16")}}}), {2},
                {-25536, -1});
  expect_tensor(run_one("cast", {{"x", {floats({2}, {1e6, 65519})}}, {"dtype", {text("fp16")}}}),
                {2}, {kInf, 65504});
  // Floats beyond the type's range saturate; NaN becomes 0.
  const Tensor far = floats({7}, {3e9, -3e9, kInf, -kInf, kNaN, 300, -5.7});
  expect_tensor(run_one("cast", {{"x", {far}}, {"dtype", {text("int32")}}}), {7},
                {2147483647, -2147483648.0, 2147483647, -2147483648.0, 0, 300, -5});
  expect_tensor(run_one("cast", {{"x", {far}}, {"dtype", {text("int8")}}}), {7},
                {127, -128, 127, -128, 0, 127, -5});
  expect_tensor(run_one("cast", {{"x", {far}}, {"dtype", {text("uint8")}}}), {7},
                {255, 0, 255, 0, 0, 255, 0});
  EXPECT_EQ(error_code_of([&] {
              run_one("cast", {{"x", {x}}, {"dtype", {text("number")}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Elementwise, RoundsHalvesToEven) {
  expect_tensor(run_one("round", {{"x", {floats({4}, {0.5, 1.5, -2.5, 2.6})}}}), {4},
                {0, 2, -2, 3});
}

TEST(Activation, Softmax) {
  const Tensor x = floats({3, 2}, {0, 0, 1000, 1000 + std::log(3.0), 0, -kInf});
  expect_tensor(run_one("softmax", {{"x", {x}}}), {3, 2}, {0.5, 0.5, 0.25, 0.75, 1, 0});
  expect_tensor(run_one("softmax", {{"x", {floats({1, 2}, {-kInf, -kInf})}}}), {1, 2},
                {kNaN, kNaN});
  expect_tensor(run_one("softmax", {{"x", {floats({2, 1}, {3, 3})}}, {"axis", {integer(-2)}}}),
                {2, 1}, {0.5, 0.5});
}

TEST(Activation, Gelu) {
  const Tensor x = floats({2}, {1, -kInf});
  expect_tensor(run_one("gelu", {{"x", {x}}}), {2}, {0.8413447, 0});
  expect_tensor(run_one("gelu", {{"x", {x}}, {"mode", {text("TANH_APPROXIMATION")}}}), {2},
                {0.8411920, 0});
  expect_tensor(run_one("gelu", {{"x", {x}}, {"mode", {text("SIGMOID_APPROXIMATION")}}}), {2},
                {0.8457957, 0});
  EXPECT_EQ(error_code_of([&] {
              run_one("gelu", {{"x", {x}}, {"mode", {text("FAST")}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Activation, FactorsAreNeeded) {
  const Tensor x = floats({2}, {-1, 3});
  const Tensor half = floats({}, {0.5}), two = floats({}, {2});
  expect_tensor(run_one("clamped_relu", {{"x", {x}}, {"alpha", {half}}, {"beta", {two}}}), {2},
                {-0.5, 2});
  EXPECT_EQ(error_code_of([&] {
              run_one("clamped_relu", {{"x", {x}}, {"alpha", {half}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Activation, SiluAndSoftplusAtTheEnds) {
  expect_tensor(run_one("silu", {{"x", {floats({3}, {-kInf, 0, 100})}}}), {3}, {0, 0, 100});
  expect_tensor(run_one("softplus", {{"x", {floats({2}, {1000, -1000})}}}), {2}, {1000, 0});
}

}  // namespace
}  // namespace pippin::mil
