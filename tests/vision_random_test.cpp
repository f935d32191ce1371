// Vision towers with random weights: plans compute what the value rules of the operations give, and
// so do packages.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/vision.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/vision_random_towers.h"

namespace pippin {
namespace {

using vision_towers::inputs_for;
using vision_towers::random_sized_towers;
using vision_towers::random_towers;
using vision_towers::RandomTower;

std::vector<double> run_pass(const mil::Model& model, const image::VisionPass& pass,
                             const image::ImageInputs& inputs, ThreadPool& pool,
                             engine::Precision precision) {
  const auto runner = engine::Runner::make(model, model.default_function, pool,
                                           {.compute = {.precision = precision}});
  engine::HostTensor pixels{mil::DataType::Float32, pass.shape.pixels, {}, {}, {}, {}};
  size_t count = 1;
  for (const int64_t dim : pass.shape.pixels) count *= static_cast<size_t>(dim);
  const auto bytes = std::as_bytes(
      std::span(inputs.pixel_values.values).subspan(static_cast<size_t>(pass.first), count));
  pixels.bytes.assign(bytes.begin(), bytes.end());
  engine::NamedHostTensors named;
  named.emplace(families::vision::kPixels, pixels);
  engine::State state(std::vector<mil::Feature>{});
  return engine::to_tensor(runner->run(named, state).find(families::vision::kRows)->second).values;
}

class RandomTowers : public testing::TestWithParam<RandomTower> {
 protected:
  static void build_all(const std::filesystem::path& folder) {
    const models::VisionModel model(folder);
    for (const auto& pass : model.passes(inputs_for(GetParam())).passes) model.build(pass.shape);
  }
  // The folder of the model, written once.
  static std::filesystem::path folder() {
    static std::map<std::string, TempDir> folders;
    const auto [found, is_new] = folders.try_emplace(GetParam().name);
    if (is_new) {
      models::write_random_model(found->second.path(), GetParam().config, build_all);
    }
    return found->second.path();
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1);
};

TEST_P(RandomTowers, PlansFollowTheValueRules) {
  const image::ImageInputs inputs = inputs_for(GetParam());
  const models::VisionModel model(folder(),
                                  {.compute = models::BuildOptions::Compute::Float32Direct});
  const image::VisionPasses passes = model.passes(inputs);
  std::set<int64_t> widths;
  for (const image::VisionPass& pass : passes.passes) {
    const mil::Model program = model.build(pass.shape);
    mil::verify(program.program);
    const auto fast = run_pass(program, pass, inputs, *pool_, engine::Precision::Exact);
    const auto slow = run_pass(program, pass, inputs, *pool_, engine::Precision::Reference);
    ASSERT_EQ(fast.size(), slow.size());
    for (size_t i = 0; i < fast.size(); ++i) ASSERT_NEAR(fast[i], slow[i], 2e-5) << i;
  }
  const auto rows = app::open_vision_tower(folder(), pool_)->encode(inputs);
  std::vector<int64_t> counts;
  for (const auto& run : rows) {
    counts.push_back(run->count);
    EXPECT_EQ(run->width, GetParam().width);
    EXPECT_TRUE(std::all_of(run->values.begin(), run->values.end(),
                            [](float value) { return std::isfinite(value); }));
  }
  EXPECT_EQ(counts, GetParam().runs);
}

TEST_P(RandomTowers, RunAsPackages) {
  const image::ImageInputs inputs = inputs_for(GetParam());
  const image::VisionPass pass = models::VisionModel(folder()).passes(inputs).passes.front();
  const TempDir out;
  mil::write_package(models::build_vision(folder(), pass.shape), out / "x.mlpackage");
  const mil::Model package = mil::read_package(out / "x.mlpackage");
  mil::verify(package.program);
  const mil::Model direct = models::build_vision(
      folder(), pass.shape, {.compute = models::BuildOptions::Compute::Float32Direct});
  const auto narrow = run_pass(package, pass, inputs, *pool_, engine::Precision::Exact);
  const auto wide = run_pass(direct, pass, inputs, *pool_, engine::Precision::Exact);
  ASSERT_EQ(narrow.size(), wide.size());
  double largest = 0;
  for (const double value : wide) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wide.size(); ++i) ASSERT_NEAR(narrow[i], wide[i], 0.01 * largest) << i;
}

// Sizes that do not fit the model or the pixels.
class SizedTowers : public RandomTowers {};

TEST_P(SizedTowers, RefuseOtherSizes) {
  const models::VisionModel model(folder());
  const image::ImageInputs given = inputs_for(GetParam());
  const auto refuses = [&](const image::ImageInputs& inputs) {
    try {
      model.passes(inputs);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::InvalidArgument;
    }
  };
  EXPECT_FALSE(refuses(given));
  image::ImageInputs other = given;
  other.sizes.clear();
  EXPECT_TRUE(refuses(other));
  for (const auto& [name, table] : given.sizes) {
    for (size_t i = 0; i < table.values.size(); ++i) {
      for (const int64_t value : {table.values[i] + 1, int64_t{-2}, int64_t{1} << 40}) {
        other = given;
        other.sizes[name].values[i] = value;
        EXPECT_TRUE(refuses(other)) << name << " " << i << ": " << value;
      }
    }
    other = given;
    other.sizes[name].values.pop_back();
    EXPECT_TRUE(refuses(other));
    other = given;
    other.sizes[name].shape.push_back(1);
    EXPECT_TRUE(refuses(other));
  }
  other = given;
  other.pixel_values.values.pop_back();
  EXPECT_TRUE(refuses(other));
  other = given;
  other.pixel_values.shape = {std::ssize(other.pixel_values.values)};
  EXPECT_TRUE(refuses(other));
}

INSTANTIATE_TEST_SUITE_P(RandomSized, SizedTowers, testing::ValuesIn(random_sized_towers()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(RandomSized, RandomTowers, testing::ValuesIn(random_sized_towers()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Random, RandomTowers, testing::ValuesIn(random_towers()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
