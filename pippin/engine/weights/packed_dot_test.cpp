// Weights that are packed once for few rows: the same results, from the load cache.
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/fusion/fusion_testing.h"
#include "pippin/engine/plan.h"
#include "pippin/io/load_cache.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

constexpr int64_t kOutputWidth = 150,
                  kInputWidth = 120;  // no whole panels; 72 KB, which a cache keeps

// Three products of x, one of which is added to x's first columns, and one of their sum.
mil::Model products(const std::string& rows, const std::string& weights) {
  const std::string narrow = fmt::format("tensor<fp32, [{}, {}]>", rows, kInputWidth);
  const std::string wide = fmt::format("tensor<fp32, [{}, {}]>", rows, kOutputWidth);
  ProgramText text(narrow + " x, " + wide + " r");
  for (const char* name : {"a", "b", "c"}) {
    text.array(name, {kOutputWidth, kInputWidth}, 0.1 * (name[0] - 'a'), weights);
  }
  text.array("back", {kInputWidth, kOutputWidth}, 0, weights).array("bias", {kOutputWidth}, 0.5);
  text.op("p", wide, "linear(x = x, weight = a, bias = bias)");
  text.op("q", wide, "linear(x = x, weight = b)").op("s", wide, "linear(x = x, weight = c)");
  text.op("t", wide, "add(x = p, y = q)").op("u", wide, "add(x = s, y = r)");
  text.op("v", wide, "mul(x = t, y = u)");
  return text.op("y", narrow, "linear(x = v, weight = back)").returns("y");
}

struct Computed {
  std::vector<float> y;
  std::string steps;
};
Computed compute(const mil::Model& model, int64_t rows, const CpuFeatures& cpu,
                 const std::shared_ptr<LoadCache>& cache) {
  PlanOptions options;
  options.compute.cpu = cpu;
  options.compute.cache = cache;
  ThreadPool pool(2);
  const auto plan = Plan::make(model, "main", options);
  Execution execution(plan, pool);
  State state({});
  execution.bind({{rows, kInputWidth}, {rows, kOutputWidth}}, state);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t i : {0, 1}) {
    for (float& value : execution.float_input(i)) value = normal(random);
  }
  execution.run();
  const auto y = execution.float_output(0);
  return {{y.begin(), y.end()}, plan->describe()};
}

TEST(PackedDot, HasTheSameResults) {
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    const bool packs = kernels::packs(kernels::choose_dot(kernels::WeightType::F32, cpu));
    for (const char* weights : {"fp32", "fp16"}) {
      for (const int64_t rows : {7, 8, 49, 129}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} rows", level, weights, rows));
        TempDir folder;
        const mil::Model net = products(std::to_string(rows), weights);
        const Computed plain = compute(net, rows, cpu, nullptr);
        EXPECT_EQ(plain.steps.find("packed"), std::string::npos) << plain.steps;
        for (int times = 0; times < 2; ++times) {
          const auto cache = std::make_shared<LoadCache>(folder / "c");
          const Computed cached = compute(net, rows, cpu, cache);
          EXPECT_EQ(cached.y, plain.y);
          const bool few = rows >= 8 && rows <= 128;
          EXPECT_EQ(cached.steps.find("packed") != std::string::npos, packs && few) << cached.steps;
          EXPECT_EQ(cache->entries().empty(), !(packs && few));
        }
      }
    }
  }
}

// Rows that differ from call to call, or a cache without space.
TEST(PackedDot, LeavesWhatItWouldNotPayFor) {
  const CpuFeatures cpu = detect_cpu();
  TempDir folder;
  const auto cache = std::make_shared<LoadCache>(folder / "c");
  const mil::Model flexible = products("?", "fp32");
  EXPECT_EQ(compute(flexible, 49, cpu, cache).steps.find("packed"), std::string::npos);
  EXPECT_TRUE(cache->entries().empty());
}

}  // namespace
}  // namespace pippin::engine
