#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

const Tensor kCount = floats({6}, {0, 1, 2, 3, 4, 5});

Tensor slice(const Tensor& x, std::vector<double> begin, std::vector<double> end,
             Arguments more = {}) {
  more.push_back({"x", {x}});
  more.push_back({"begin", {ints(std::move(begin))}});
  more.push_back({"end", {ints(std::move(end))}});
  return run_one("slice_by_index", more);
}

TEST(SliceByIndex, FollowsNumpy) {
  expect_tensor(slice(kCount, {1}, {4}), {3}, {1, 2, 3});
  expect_tensor(slice(kCount, {-2}, {6}), {2}, {4, 5});
  expect_tensor(slice(kCount, {0}, {-1}), {5}, {0, 1, 2, 3, 4});
  expect_tensor(slice(kCount, {4}, {100}), {2}, {4, 5});
  expect_tensor(slice(kCount, {-100}, {2}), {2}, {0, 1});
  expect_tensor(slice(kCount, {4}, {2}), {0}, {});
}

TEST(SliceByIndex, Strides) {
  expect_tensor(slice(kCount, {1}, {6}, {{"stride", {ints({2})}}}), {3}, {1, 3, 5});
  expect_tensor(slice(kCount, {0}, {6}, {{"stride", {ints({4})}}}), {2}, {0, 4});
  expect_tensor(slice(kCount, {4}, {1}, {{"stride", {ints({-2})}}}), {2}, {4, 2});
  // The full extent in reverse: both masks.
  expect_tensor(
      slice(kCount, {0}, {0},
            {{"stride", {ints({-1})}}, {"begin_mask", {bools({1})}}, {"end_mask", {bools({1})}}}),
      {6}, {5, 4, 3, 2, 1, 0});
  EXPECT_EQ(error_code_of([] {
              slice(kCount, {0}, {1}, {{"stride", {ints({0})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(SliceByIndex, Masks) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_tensor(slice(x, {0, 1}, {0, 0}, {{"end_mask", {bools({1, 1})}}}), {2, 2}, {1, 2, 4, 5});
  expect_tensor(slice(x, {-1, 0}, {0, 2}, {{"squeeze_mask", {bools({1, 0})}}}), {2}, {3, 4});
  expect_tensor(slice(x, {1, 2}, {0, 0}, {{"squeeze_mask", {bools({1, 1})}}}), {}, {5});
  EXPECT_EQ(error_code_of([&] {
              slice(x, {2, 0}, {0, 2}, {{"squeeze_mask", {bools({1, 0})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(SliceBySize, CountsToTheEnd) {
  const auto by_size = [](double begin, double size) {
    return run_one("slice_by_size",
                   {{"x", {kCount}}, {"begin", {ints({begin})}}, {"size", {ints({size})}}});
  };
  expect_tensor(by_size(2, 3), {3}, {2, 3, 4});
  expect_tensor(by_size(-2, -1), {2}, {4, 5});
  EXPECT_EQ(error_code_of([&] { by_size(4, 3); }), ErrorCode::InvalidFile);
}

TEST(SliceUpdate, ReplacesTheSlice) {
  const auto update = [](const Tensor& x, const Tensor& value, std::vector<double> begin,
                         std::vector<double> end, Arguments more = {}) {
    more.push_back({"x", {x}});
    more.push_back({"update", {value}});
    more.push_back({"begin", {ints(std::move(begin))}});
    more.push_back({"end", {ints(std::move(end))}});
    return run_one("slice_update", more);
  };
  expect_tensor(update(kCount, floats({2}, {8, 9}), {1}, {3}), {6}, {0, 8, 9, 3, 4, 5});
  expect_tensor(update(kCount, floats({3}, {7, 8, 9}), {0}, {0},
                       {{"stride", {ints({2})}}, {"end_mask", {bools({1})}}}),
                {6}, {7, 1, 8, 3, 9, 5});
  expect_tensor(update(floats({2, 2}, {1, 2, 3, 4}), floats({2}, {8, 9}), {1, 0}, {0, 2},
                       {{"squeeze_mask", {bools({1, 0})}}}),
                {2, 2}, {1, 2, 8, 9});
  EXPECT_EQ(error_code_of([&] {
              update(kCount, floats({2}, {8, 9}), {1}, {4});
            }),
            ErrorCode::InvalidFile);
}

TEST(Gather, AxesAndBatches) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_tensor(
      run_one("gather", {{"x", {x}}, {"indices", {ints({2, 0})}}, {"axis", {integer(-1)}}}), {2, 2},
      {2, 0, 5, 3});
  expect_tensor(run_one("gather", {{"x", {x}}, {"indices", {ints({}, {1})}}}), {3}, {3, 4, 5});
  expect_tensor(run_one("gather", {{"x", {x}},
                                   {"indices", {ints({2, 1}, {2, 0})}},
                                   {"axis", {integer(1)}},
                                   {"batch_dims", {integer(1)}}}),
                {2, 1}, {2, 3});
}

TEST(Gather, IndicesOutOfRange) {
  const auto gather = [](double index, Opset opset, bool validate) {
    Arguments arguments = {{"x", {kCount}}, {"indices", {ints({index})}}};
    if (validate) arguments.push_back({"validate_indices", {flag(true)}});
    return run_one("gather", arguments, opset).values[0];
  };
  EXPECT_EQ(gather(-1, Opset::CoreML5, false), 5);
  EXPECT_EQ(error_code_of([&] { gather(6, Opset::CoreML6, false); }), ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] { gather(6, Opset::CoreML8, true); }), ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] { gather(-1, Opset::CoreML8, true); }), ErrorCode::InvalidFile);
  gather(1e9, Opset::CoreML8, false);  // undefined, but some element of x
}

TEST(GatherAlongAxis, PicksPerLine) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_tensor(run_one("gather_along_axis",
                        {{"x", {x}}, {"indices", {ints({2, 1}, {2, 0})}}, {"axis", {integer(1)}}}),
                {2, 1}, {2, 3});
}

TEST(Scatter, RepeatedIndicesAccumulate) {
  const auto scatter = [](std::string mode) {
    return run_one("scatter", {{"data", {floats({3}, {1, 2, 3})}},
                               {"indices", {ints({0, 0, 2})}},
                               {"updates", {floats({3}, {10, 20, 30})}},
                               {"mode", {text(std::move(mode))}}});
  };
  expect_tensor(scatter("add"), {3}, {31, 2, 33});
  expect_tensor(scatter("update"), {3}, {20, 2, 30});
  expect_tensor(scatter("max"), {3}, {20, 2, 30});
}

}  // namespace
}  // namespace pippin::mil
