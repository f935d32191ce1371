#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

const Tensor kSix = floats({2, 3}, {0, 1, 2, 3, 4, 5});

TEST(Reshape, InfersAndCopies) {
  const auto shape_of = [](std::vector<double> shape, Opset opset) {
    const Tensor x = floats({2, 3, 4}, std::vector<double>(24));
    return run_one("reshape", {{"x", {x}}, {"shape", {ints(std::move(shape))}}}, opset).shape;
  };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shape_of({-1}, Opset::CoreML5), (Shape{24}));
  EXPECT_EQ(shape_of({0, -1, 2}, Opset::CoreML6), (Shape{2, 6, 2}));
  // Since CoreML7, zeros count from the right and mean 1 beyond the rank.
  EXPECT_EQ(shape_of({-1, 0}, Opset::CoreML7), (Shape{6, 4}));
  EXPECT_EQ(shape_of({0, 2, -1, 0}, Opset::CoreML7), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(error_code_of([&] { shape_of({-1, -1}, Opset::CoreML8); }), ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] { shape_of({5, -1}, Opset::CoreML8); }), ErrorCode::InvalidFile);
}

TEST(Reshape, ToAndFromScalars) {
  expect_tensor(run_one("reshape", {{"x", {floats({}, {7})}}, {"shape", {ints({1, 1})}}}), {1, 1},
                {7});
  expect_tensor(
      run_one("reshape", {{"x", {floats({1}, {7})}}, {"shape", {ints(std::vector<double>{})}}}), {},
      {7});
}

TEST(Squeeze, IgnoresAxesThatAreNotOne) {
  const Tensor x = floats({1, 2, 1}, {4, 5});
  expect_tensor(run_one("squeeze", {{"x", {x}}}), {2}, {4, 5});
  expect_tensor(run_one("squeeze", {{"x", {x}}, {"axes", {ints({-1, 1})}}}), {1, 2}, {4, 5});
  expect_tensor(run_one("squeeze", {{"x", {floats({1, 1}, {3})}}}), {}, {3});
}

TEST(ExpandDims, AxesReferToTheResult) {
  expect_tensor(run_one("expand_dims", {{"x", {floats({2}, {4, 5})}}, {"axes", {ints({0, -1})}}}),
                {1, 2, 1}, {4, 5});
  expect_tensor(run_one("expand_dims", {{"x", {floats({}, {4})}}, {"axes", {ints({0})}}}), {1},
                {4});
}

TEST(Transpose, TakesNegativeAxes) {
  expect_tensor(run_one("transpose", {{"x", {kSix}}, {"perm", {ints({-1, 0})}}}), {3, 2},
                {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(error_code_of([] {
              run_one("transpose", {{"x", {kSix}}, {"perm", {ints({1, 1})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Concat, TakesScalarsAndInterleaves) {
  expect_tensor(run_one("concat", {{"values", {ints({}, {3}), ints({4, 5}), ints({}, {6})}},
                                   {"axis", {integer(0)}}}),
                {4}, {3, 4, 5, 6});
  expect_tensor(
      run_one("concat",
              {{"values", {kSix, kSix}}, {"axis", {integer(-1)}}, {"interleave", {flag(true)}}}),
      {2, 6}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect_tensor(run_one("concat", {{"values", {floats({0, 3}, {}), kSix}}, {"axis", {integer(0)}}}),
                {2, 3}, kSix.values);
}

TEST(StackAndSplit, AreInverse) {
  const Tensor stacked =
      run_one("stack", {{"values", {ints({1, 2}), ints({3, 4})}}, {"axis", {integer(-1)}}});
  expect_tensor(stacked, {2, 2}, {1, 3, 2, 4});
  const auto parts =
      run_op("split", {{"x", {kSix}}, {"split_sizes", {ints({1, 0, 2})}}, {"axis", {integer(1)}}});
  ASSERT_EQ(parts.size(), 3u);
  expect_tensor(parts[0], {2, 1}, {0, 3});
  expect_tensor(parts[1], {2, 0}, {});
  expect_tensor(parts[2], {2, 2}, {1, 2, 4, 5});
  EXPECT_EQ(
      error_code_of([] {
        run_op("split", {{"x", {kSix}}, {"num_splits", {integer(2)}}, {"axis", {integer(1)}}});
      }),
      ErrorCode::InvalidFile);
}

TEST(Tile, Repeats) {
  expect_tensor(run_one("tile", {{"x", {ints({1, 2})}}, {"reps", {ints({2})}}}), {4}, {1, 2, 1, 2});
  expect_tensor(run_one("tile", {{"x", {kSix}}, {"reps", {ints({1, 0})}}}), {2, 0}, {});
}

TEST(RangeAndFill, MakeTensors) {
  const auto range = [](double start, double end, double step) {
    return run_one("range_1d", {{"start", {floats({}, {start})}},
                                {"end", {floats({}, {end})}},
                                {"step", {floats({}, {step})}}});
  };
  expect_tensor(range(0, 1, 0.3), {4}, {0, 0.3, 0.6, 0.9});
  expect_tensor(range(3, 0, -1), {3}, {3, 2, 1});
  expect_tensor(range(0, -1, 1), {0}, {});
  EXPECT_EQ(error_code_of([&] { range(0, 1, 0); }), ErrorCode::InvalidFile);
  expect_tensor(run_one("fill", {{"shape", {ints({2, 1})}}, {"value", {integer(7)}}}), {2, 1},
                {7, 7});
  EXPECT_EQ(run_one("fill", {{"shape", {ints({1})}}}).type, DataType::Float32);
  EXPECT_EQ(error_code_of([] {
              const ElementLimit limit(1000);
              run_one("fill", {{"shape", {ints({1000, 1000})}}});
            }),
            ErrorCode::LimitExceeded);
}

TEST(BandPart, KeepsTheBand) {
  const Tensor x = floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_tensor(
      run_one("band_part", {{"x", {x}}, {"lower", {integer(-1)}}, {"upper", {integer(0)}}}), {3, 3},
      {1, 0, 0, 4, 5, 0, 7, 8, 9});
  expect_tensor(
      run_one("band_part", {{"x", {x}}, {"lower", {integer(0)}}, {"upper", {integer(1)}}}), {3, 3},
      {1, 2, 0, 0, 5, 6, 0, 0, 9});
}

TEST(Pad, Modes) {
  const auto pad = [](std::string mode) {
    return run_one("pad",
                   {{"x", {kSix}}, {"pad", {ints({2, 1})}}, {"mode", {text(std::move(mode))}}});
  };
  expect_tensor(pad("constant"), {2, 6}, {0, 0, 0, 1, 2, 0, 0, 0, 3, 4, 5, 0});
  expect_tensor(pad("reflect"), {2, 6}, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
  expect_tensor(pad("replicate"), {2, 6}, {0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5});
}

}  // namespace
}  // namespace pippin::mil
