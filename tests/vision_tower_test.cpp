// Vision towers apart from any model: passes, rows and their mixtures, digests, and kept plans and
// rows.
#include "pippin/runtime/vision/vision_tower.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/nn/vision/grid_resize.h"

namespace pippin {
namespace {

using runtime::VisionTower;

// Rows of two numbers: the pixels times two, plus shape.sizes[0].
mil::Model doubling(const image::VisionShape& shape) {
  array::Builder builder;
  const mil::Shape dims(shape.pixels.begin(), shape.pixels.end());
  const array::Array pixels =
      builder.input(families::vision::kPixels, mil::DataType::Float32, dims);
  const double more = shape.sizes.empty() ? 0 : static_cast<double>(shape.sizes[0]);
  builder.output(families::vision::kRows, pixels * 2.0 + more);
  mil::Model model;
  model.program.functions.emplace(families::kMain, builder.build());
  mil::FunctionDescription function;
  function.name = families::kMain;
  function.inputs = {
      mil::array_feature(families::vision::kPixels, "", mil::DataType::Float32, shape.pixels)};
  function.outputs = {mil::array_feature(families::vision::kRows, "", mil::DataType::Float32)};
  model.functions = {function};
  return model;
}

struct Fake {
  int builds = 0;
  image::VisionPasses passes;

  VisionTower tower(runtime::VisionTowerOptions options = {}) {
    return VisionTower({[this](const image::ImageInputs&) { return passes; },
                        [this](const image::VisionShape& shape) {
                          ++builds;
                          return doubling(shape);
                        }},
                       std::make_shared<ThreadPool>(1), std::move(options));
  }
};

image::ImageInputs pixels(std::vector<float> values) {
  image::ImageInputs inputs;
  inputs.pixel_values = {{std::ssize(values) / 2, 2}, std::move(values)};
  return inputs;
}

TEST(VisionTower, GivesARunOfRowsForEachGroup) {
  Fake fake;
  fake.passes.passes = {{{{1, 2, 2}, {}}, 0}, {{{1, 1, 2}, {1}}, 4}};
  fake.passes.runs = {{.rows = {2, 0}, .grid = {1, 1, 2}}, {.rows = {1}}};
  VisionTower tower = fake.tower();
  const auto rows = tower.encode(pixels({1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]->values, (std::vector<float>{11, 13, 2, 4}));
  EXPECT_EQ(rows[0]->count, 2);
  EXPECT_EQ(rows[0]->width, 2);
  EXPECT_EQ(rows[0]->grid, (std::array<int64_t, 3>{1, 1, 2}));
  EXPECT_EQ(rows[1]->values, (std::vector<float>{6, 8}));
  EXPECT_EQ(rows[0]->digest.size(), 64U);
  EXPECT_NE(rows[0]->digest, rows[1]->digest);
}

TEST(VisionTower, MixesRows) {
  Fake fake;
  fake.passes.passes = {{{{1, 2, 2}, {}}, 0}};
  fake.passes.runs = {{.rows = {0, 1, 1, 1}, .parts = 2, .weights = {0.25F, 0.75F, 1, 0}}};
  VisionTower tower = fake.tower();
  const auto rows = tower.encode(pixels({0, 2, 4, 6}));
  EXPECT_EQ(rows.at(0)->values, (std::vector<float>{6, 10, 8, 12}));
  EXPECT_EQ(rows.at(0)->count, 2);
}

TEST(VisionTower, DigestsTellInputsAndProgramsApart) {
  Fake fake;
  fake.passes = {{{{{1, 1, 2}, {}}, 0}}, {{.rows = {0}}}};
  VisionTower tower = fake.tower();
  const auto first = tower.encode(pixels({1, 2}));
  EXPECT_EQ(tower.encode(pixels({1, 2})), first);  // kept
  const auto other = tower.encode(pixels({1, 3}));
  EXPECT_NE(other.at(0)->digest, first.at(0)->digest);
  VisionTower again = fake.tower();
  const auto same = again.encode(pixels({1, 2}));
  EXPECT_NE(same, first);
  EXPECT_EQ(same.at(0)->digest, first.at(0)->digest);
  fake.passes.passes[0].shape.sizes = {1};
  EXPECT_NE(tower.encode(pixels({1, 2})).at(0)->digest, first.at(0)->digest);
}

TEST(VisionTower, KeepsFewPlansAndRows) {
  Fake fake;
  VisionTower tower = fake.tower({.compute = {}, .most_plans = 1, .kept_bytes = 8});
  const auto encode = [&](int64_t count) {
    fake.passes = {{{{{1, count, 2}, {}}, 0}}, {{.rows = {0}}}};
    return tower.encode(pixels({1, 2, 3, 4}));
  };
  const auto first = encode(1);
  EXPECT_EQ(fake.builds, 2);  // for the digest, and for the plan
  EXPECT_EQ(encode(1), first);
  EXPECT_EQ(fake.builds, 2);
  EXPECT_NE(encode(2), first);
  EXPECT_EQ(fake.builds, 4);
  EXPECT_NE(encode(1), first);  // neither its rows nor its plan are kept
  EXPECT_EQ(fake.builds, 5);
}

TEST(VisionTower, IsUsedByThreads) {
  Fake fake;
  fake.passes = {{{{{1, 1, 2}, {}}, 0}}, {{.rows = {0}}}};
  VisionTower tower = fake.tower();
  std::vector<std::thread> threads;
  std::vector<float> found(4);
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto number = static_cast<float>(i);
      found[i] = tower.encode(pixels({number, number})).at(0)->values[1];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, (std::vector<float>{0, 2, 4, 6}));
}

TEST(VisionTower, RefusesRowsThatNoPassHas) {
  Fake fake;
  fake.passes = {{{{{1, 1, 2}, {}}, 0}}, {{.rows = {1}}}};
  VisionTower tower = fake.tower();
  EXPECT_THROW(tower.encode(pixels({1, 2})), Error);
  fake.passes = {{{{{1, 2, 2}, {}}, 0}}, {{.rows = {1}}}};
  EXPECT_THROW(tower.encode(pixels({1, 2})), Error);
}

// Expected numbers are those of torch.nn.functional.interpolate.
TEST(GridResizing, FollowsPyTorch) {
  using Kind = nn::GridResizing::Kind;
  const std::vector<double> rows = {0, 1, 4, 9, 16, 25, 36, 49};  // 2 x 4, one feature
  const nn::Grid from{2, 4};
  const auto resized = [&](nn::Grid to, const nn::GridResizing& how) {
    return nn::resize_grid(rows, 1, from, to, how);
  };
  const auto expect_near = [](const std::vector<double>& given, std::vector<double> expected) {
    ASSERT_EQ(given.size(), expected.size());
    for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-9) << i;
  };
  EXPECT_EQ(resized(from, {}), rows);
  expect_near(resized({1, 4}, {}), {8, 13, 20, 29});
  expect_near(resized({2, 2}, {}), {0.5, 6.5, 20.5, 42.5});
  expect_near(resized({2, 8}, {}), {0, 0.25, 0.75, 1.75, 3.25, 5.25, 7.75, 9, 16, 18.25, 22.75,
                                    27.75, 33.25, 39.25, 45.75, 49});
  expect_near(resized({3, 4}, {.align_corners = true}),
              {0, 1, 4, 9, 8, 13, 20, 29, 16, 25, 36, 49});
  // Twice as small: with antialiasing each takes four numbers by 1/8, 3/8, 3/8, 1/8, those of them
  // that exist.
  expect_near(resized({2, 2}, {.antialias = true}),
              {(3 * 0 + 3 * 1 + 1 * 4) / 7.0, (1 * 1 + 3 * 4 + 3 * 9) / 7.0,
               (3 * 16 + 3 * 25 + 1 * 36) / 7.0, (1 * 25 + 3 * 36 + 3 * 49) / 7.0});
  // Halfway between two numbers: -0.09375, 0.59375, 0.59375, -0.09375 for a = -0.75.
  const double a = -0.09375, b = 0.59375;
  expect_near(resized({2, 2}, {.kind = Kind::Bicubic}),
              {a * 0 + b * 0 + b * 1 + a * 4, a * 1 + b * 4 + b * 9 + a * 9,
               a * 16 + b * 16 + b * 25 + a * 36, a * 25 + b * 36 + b * 49 + a * 49});
}

}  // namespace
}  // namespace pippin
