// Products with the changes of adapters as one step.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "pippin/engine/fusion/fusion_testing.h"
#include "pippin/engine/fusion/products_testing.h"

namespace pippin::engine {
namespace {

using testing::HasSubstr;

using Ranks = std::vector<int64_t>;  // of each adapter

// The sum over adapters.
int64_t sum_of(const Ranks& ranks) {
  int64_t sum = 0;
  for (const int64_t rank : ranks) sum += rank;
  return sum;
}

std::string matrix(const std::string& type, const std::string& name, int64_t rows, int64_t columns,
                   uint32_t seed) {
  return fmt::format("tensor<{0}, [{1}, {2}]> {3} = const()[name = string(\"{3}\"), val = {4}];\n",
                     type, rows, columns, name, values(type, {rows, columns}, -999, 999, seed));
}

// s: the adapters' numbers times scales, by rank.
std::string numbers(Form form, const Ranks& ranks) {
  std::vector<int64_t> owners;
  for (size_t i = 0; i < ranks.size(); ++i) {
    owners.insert(owners.end(), static_cast<size_t>(ranks[i]), static_cast<int64_t>(i));
  }
  const std::string type = element(form);
  const int64_t all = sum_of(ranks);
  return fmt::format(
      "tensor<{0}, [{1}]> chosen = gather(x = numbers, indices = tensor<int32, [{1}]>([{2}]), axis "
      "= int32(0))[name = string(\"chosen\")];\n"
      "tensor<{0}, [{1}]> s = mul(x = chosen, y = {3})[name = string(\"s\")];\n",
      type, all, fmt::join(owners, ", "), values(type, {all}, 500, 1500, 5));
}

// The layer `name`: x · Wᵀ + (s * (x · Aᵀ)) · Bᵀ.
std::string changed(Form form, const std::string& name, int64_t outputs, int64_t ranks,
                    uint32_t seed, const std::string& bias = "") {
  const std::string call = "linear(x = {}, weight = {}{}{})";
  const auto product = [&](const std::string& x, const std::string& part) {
    return fmt::format(fmt::runtime(call), x, part, name, "");
  };
  return weight(form, "w" + name, outputs, seed) +
         matrix(element(form), "a" + name, ranks, kInputs, seed + 1) +
         matrix(element(form), "b" + name, outputs, ranks, seed + 2) +
         linear(form, "base" + name, outputs,
                fmt::format(fmt::runtime(call), "x", "w", name, bias)) +
         linear(form, "t" + name, ranks, product("x", "a")) +
         linear(form, "u" + name, ranks, fmt::format("mul(x = t{}, y = s)", name)) +
         linear(form, "v" + name, outputs,
                fmt::format("linear(x = u{0}, weight = b{0}, bias = {1})", name,
                            values(element(form), {outputs}, 0, 0, 1))) +
         linear(form, name, outputs, fmt::format("add(x = base{0}, y = v{0})", name));
}

// Queries, with a bias, and keys, and a layer that is added to z.
mil::Model model_of(Form form, const Ranks& ranks, int64_t first = 96, int64_t second = 40) {
  const std::string type = element(form);
  const int64_t all = sum_of(ranks);
  const std::string bias = ", bias = " + values(type, {first}, -999, 999, 9);
  return make_model(fmt::format("func main<ios18>(tensor<{0}, [?, 64]> x, tensor<{0}, [{1}]> "
                                "numbers) {{\n",
                                type, ranks.size()) +
                    numbers(form, ranks) + changed(form, "q", first, all, 1, bias) +
                    changed(form, "k", second, all, 11) + changed(form, "o", second, all, 21) +
                    linear(form, "z", second, "mul(x = k, y = k)") +
                    linear(form, "sum", second, "add(x = z, y = o)") + "} -> (q, k, sum);");
}

struct Run {
  std::vector<float> numbers;
  int64_t rows = 1;
};

// The results of a plan.
std::vector<std::vector<float>> results(const mil::Model& model, const PlanOptions& options,
                                        int threads, const Run& run) {
  ThreadPool pool(threads);
  Execution execution(Plan::make(model, "main", options), pool);
  State state({});
  execution.bind({{run.rows, 64}, {static_cast<int64_t>(run.numbers.size())}}, state);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float& value : execution.float_input(0)) value = normal(random);
  std::copy(run.numbers.begin(), run.numbers.end(), execution.float_input(1).begin());
  execution.run();
  std::vector<std::vector<float>> found;
  for (size_t i = 0; i < execution.plan().outputs().size(); ++i) {
    const auto values = execution.float_output(i);
    found.emplace_back(values.begin(), values.end());
  }
  return found;
}

void expect_near_unfused(const mil::Model& model, const std::vector<Run>& runs) {
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
      for (const Run& run : runs) {
        SCOPED_TRACE(fmt::format("{}, precision {}, {} rows, numbers {}", level,
                                 static_cast<int>(precision), run.rows,
                                 fmt::join(run.numbers, " ")));
        PlanOptions options;
        options.compute.precision = precision;
        options.compute.cpu = cpu;
        const auto fused = results(model, options, 3, run);
        EXPECT_EQ(results(model, options, 1, run), fused);
        options.compute.fusion = false;
        const auto plain = results(model, options, 1, run);
        const bool none = std::all_of(run.numbers.begin(), run.numbers.end(),
                                      [](float number) { return number == 0; });
        if (none) {
          EXPECT_EQ(fused, plain);
          continue;
        }
        for (size_t i = 0; i < plain.size(); ++i) {
          double largest = 0;
          for (const float value : plain[i]) largest = std::max(largest, std::abs(double{value}));
          ASSERT_EQ(fused[i].size(), plain[i].size());
          for (size_t k = 0; k < plain[i].size(); ++k) {
            ASSERT_NEAR(fused[i][k], plain[i][k], 3e-6 * largest) << i << "[" << k << "]";
          }
        }
      }
    }
  }
}

TEST(FuseLowRank, IsPartOfTheProduct) {
  const std::string steps = described(model_of(Form::Fp32, {3}));
  EXPECT_THAT(steps, HasSubstr("2 linear (dot_f32_scalar) + low rank f32[x[0], 96], f32[x[0], 40] "
                               "<- f32[x[0], 64], f32[96, 64], f32[96], f32[3, 64], f32[x[0], 3], "
                               "f32[6, 3, 16], f32[40, 64], f32[3, 64], f32[x[0], 3], "
                               "f32[3, 3, 16]\n"));
  EXPECT_THAT(steps, HasSubstr("linear (dot_f32_scalar) + low rank + residual f32[x[0], 40] <- "
                               "f32[x[0], 64], f32[40, 64], f32[3, 64], f32[x[0], 3], "
                               "f32[3, 3, 16], f32[x[0], 40]\n"));
}

TEST(FuseLowRank, GivesTheValuesOfSeparateSteps) {
  for (const Form form : {Form::Fp32, Form::Fp16, Form::Int4, Form::Int8, Form::Palette}) {
    SCOPED_TRACE(static_cast<int>(form));
    expect_near_unfused(model_of(form, {1}), {{{1}, 1}, {{0.5F}, 2}, {{0}, 3}});
    expect_near_unfused(model_of(form, {16}), {{{1}, 1}, {{-2}, 9}, {{0}, 1}});
    expect_near_unfused(model_of(form, {64}), {{{1}, 1}, {{1}, 5}});
    expect_near_unfused(
        model_of(form, {3, 16, 5}),
        {{{1, 0, 0}, 1}, {{0, 1, 0}, 4}, {{1, 0, 2}, 7}, {{0, 0, 0}, 9}, {{1, 1, 1}, 64}});
  }
  // Large enough that threads share them.
  expect_near_unfused(model_of(Form::Int4, {16, 16}, 4096, 1000), {{{0, 1}, 4}, {{1, 1}, 60}});
  expect_near_unfused(model_of(Form::Fp16, {5}, 1000, 4100), {{{1}, 3}, {{1}, 6}});
}

TEST(FuseLowRank, GivesTheValuesOfTheReference) {
  expect_same_values(model_of(Form::Fp32, {3, 5}), {{{1, 64}, {2}}, {{6, 64}, {2}}},
                     {Fill::Ordinary, Fill::Zeros});
}

// A change by a constant number, and none.
TEST(FuseLowRank, WithConstantScales) {
  const std::string layer = changed(Form::Fp32, "q", 96, 3, 1);
  const auto expect_fused = [&](std::string text) {
    const mil::Model model =
        make_model("func main<ios18>(tensor<fp32, [?, 64]> x) {\n" + text + "} -> (q);");
    EXPECT_NE(described(model).find("low rank"), std::string::npos) << described(model);
    expect_same_values(model, {{{1, 64}}, {{6, 64}}}, {Fill::Ordinary});
  };
  const std::string scaled = "mul(x = tq, y = s)";
  for (const char* other : {"mul(x = tq, y = fp32(0.5))", "mul(x = fp32(0.5), y = tq)"}) {
    std::string text = layer;
    expect_fused(text.replace(text.find(scaled), scaled.size(), other));
  }
  std::string text = layer;
  const size_t line = text.find("tensor<fp32, [?, 3]> uq");
  text.erase(line, text.find('\n', line) + 1 - line);
  expect_fused(text.replace(text.find("x = uq"), 6, "x = tq"));
}

// Another input, a bias, numbers by row, a product that others read.
TEST(FuseLowRank, LeavesWhatDiffers) {
  const std::string layer = changed(Form::Fp32, "q", 96, 3, 1);
  const auto expect_unfused = [&](const std::string& from, const std::string& to,
                                  const std::string& outputs = "q") {
    std::string text = layer;
    text.replace(text.find(from), from.size(), to);
    const mil::Model model = make_model(
        "func main<ios18>(tensor<fp32, [?, 64]> x, tensor<fp32, [?, 64]> z, tensor<fp32, [3]> s, "
        "tensor<fp32, [?, 3]> rows) {\n" +
        text + "} -> (" + outputs + ");");
    EXPECT_EQ(described(model).find("low rank"), std::string::npos) << described(model);
  };
  expect_unfused("x = x, weight = aq", "x = z, weight = aq");
  expect_unfused("weight = aq", "weight = aq, bias = tensor<fp32, [3]>([1, 2, 3])");
  const std::string bias = "weight = bq, bias = ";
  expect_unfused(bias + values("fp32", {96}, 0, 0, 1), bias + values("fp32", {96}, -9, 9, 1));
  expect_unfused("y = s", "y = rows");
  for (const char* part : {"baseq", "tq", "uq", "vq"}) {
    expect_unfused("x = x", "x = x", std::string("q, ") + part);
  }
}

}  // namespace
}  // namespace pippin::engine
