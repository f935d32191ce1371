#include "pippin/app/convert/input_scales.h"

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::app {
namespace {

mil::Model demo() {
  return models::build(demo_model_folder());
}

std::vector<int32_t> ids_of_demo() {
  std::vector<int32_t> ids;
  ids.reserve(300);
  for (int32_t i = 0; i < 300; ++i) ids.push_back(i * 7 % 200);
  return ids;
}

InputScales random_scales(const mil::Model& model, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  InputScales scales;
  for (const NormGroup& group : norm_groups(model)) {
    auto& own = scales[group.norm];
    own.reserve(static_cast<size_t>(group.inputs));
    for (int64_t i = 0; i < group.inputs; ++i) own.push_back(std::exp(normal(generator)));
  }
  return scales;
}

TEST(InputScales, FindsTheNormsOfLayers) {
  const auto groups = norm_groups(demo());
  // The last norm's result is multiplied by the table, which a gather reads too.
  ASSERT_EQ(groups.size(), 12u);
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(groups[i].weights.size(), i % 2 == 0 ? 3u : 2u) << groups[i].norm;
    EXPECT_EQ(groups[i].inputs, 192);
  }
}

std::vector<float> logits_of(mil::Model model) {
  const auto runnable = runtime::make_runnable(std::move(model), {0, 2});
  return runnable.model->new_sequence()->all_logits(ids_of_demo());
}

TEST(InputScales, KeepTheFunction) {
  const auto expected = logits_of(demo());
  mil::Model model = demo();
  const InputScales scales = random_scales(model, 3);
  apply(scales, model);
  const auto found = logits_of(std::move(model));
  ASSERT_EQ(found.size(), expected.size());
  double error = 0, energy = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    error += std::pow(double{found[i]} - double{expected[i]}, 2);
    energy += std::pow(double{expected[i]}, 2);
  }
  EXPECT_GT(error, 0);  // the scaled weights are rounded to fp16
  EXPECT_LT(error, 1e-4 * energy);
}

// A norm's weight `w`, its product with x, and what reads the product.
mil::Model program(const std::string& rest, const std::string& outputs) {
  mil::Model model;
  const auto matrix = [](const char* name, const char* columns, const char* values) {
    return fmt::format(
        "tensor<fp32, [2, {}]> {} = const()[name = string(\"{}\"), val = tensor<fp32, [2, "
        "{}]>({})];",
        columns, name, name, columns, values);
  };
  model.program = mil::parse_text(
      "program(1.3) { func main<ios18>(tensor<fp32, [4, 3]> x) {"
      "tensor<fp32, [3]> w = const()[name = string(\"w\"), val = tensor<fp32, [3]>([0x1p+0, "
      "0x1p+1, 0x1p-1])];" +
          matrix("a", "3", "[[0x1p+0, 0x1p+0, 0x1p+0], [0x1p+1, 0x1p+1, 0x1p+1]]") +
          matrix("b", "3", "[[0x1p-1, 0x1p+0, 0x1p+0], [0x1p+1, 0x1p-1, 0x1p+1]]") +
          "tensor<fp32, [4, 3]> y = mul(x = w, y = x)[name = string(\"y\")];"
          "tensor<fp32, [4, 2]> p = linear(x = y, weight = a)[name = string(\"p\")];" +
          rest + "} -> (" + outputs + "); }",
      "test");
  model.functions.emplace_back().name = "main";
  return model;
}

TEST(InputScales, LeaveNormsThatOthersRead) {
  const std::string both =
      "tensor<fp32, [4, 2]> q = linear(x = y, weight = b)[name = string(\"q\")];";
  const auto groups = norm_groups(program(both, "p, q"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].norm, "w");
  EXPECT_EQ(groups[0].weights, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(norm_groups(program("", "p")).size(), 1u);
  const std::vector<std::pair<std::string, std::string>> others = {
      {"", "p, y"},  // a result of the program
      {"tensor<fp32, [4, 3]> q = relu(x = y)[name = string(\"q\")];", "p, q"},
      // The matrix of another product, and the weight of another norm.
      {"tensor<fp32, [4, 2]> q = linear(x = x, weight = a)[name = string(\"q\")];", "p, q"},
      {"tensor<fp32, [4, 3]> q = add(x = x, y = w)[name = string(\"q\")];", "p, q"},
      // The product's matrix.
      {"tensor<fp32, [4, 4]> q = linear(x = x, weight = y)[name = string(\"q\")];", "p, q"},
  };
  for (const auto& [rest, outputs] : others) {
    EXPECT_TRUE(norm_groups(program(rest, outputs)).empty()) << rest;
  }
}

TEST(InputScales, ReadsPartsOfScaledMatrices) {
  mil::Model model = program("", "p");
  apply({{"w", {1.0f, 2.0f, 0.5f}}}, model);
  for (const auto& operation : model.program.function("main").block().operations()) {
    const mil::Value* value = operation->constant_value();
    if (value == nullptr) continue;
    const std::string& name = operation->output()->name;
    if (name == "w") {
      EXPECT_EQ(value->to_doubles(), (std::vector<double>{1, 1, 1}));
    }
    if (name != "a") continue;
    EXPECT_EQ(value->to_doubles(), (std::vector<double>{1, 2, 0.5, 2, 4, 1}));
    const auto whole = value->read_bytes();
    for (size_t first = 0; first < whole.size(); first += 3) {
      for (size_t count = 1; first + count <= whole.size(); count += 2) {
        std::vector<std::byte> part(count);
        value->source->read(first, part);
        EXPECT_TRUE(
            std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(first)));
      }
    }
  }
}

// The search computes the statistics of scaled inputs; reading the text with the scaled model is
// the reference.
TEST(InputScales, LowerTheErrorOfScaledModels) {
  const TempDir scratch;
  const auto plain = scratch / "plain.mlpackage", scaled = scratch / "scaled.mlpackage";
  mil::write_package(demo(), plain);
  compress::Recipe recipe;
  recipe.scheme = compress::parse_scheme("lut3:16");
  recipe.only = {"*layers_0_*", "*layers_1_self_attn_q*"};
  const auto scales = search_scales(plain, recipe, calibrate(demo(), ids_of_demo()), 2);
  // Not the second layer's norms, whose matrices are not all compressed.
  ASSERT_GE(scales.size(), 1u);
  ASSERT_LE(scales.size(), 2u);
  mil::Model model = mil::read_package(plain);
  apply(scales, model);
  mil::write_package(model, scaled);
  recipe.rounds = 0;
  const auto errors_of = [&](const std::filesystem::path& package) {
    mil::Model source = mil::read_package(package);
    const auto statistics = calibrate(mil::read_package(package), ids_of_demo());
    std::map<std::string, double> errors;
    for (const auto& one : compress::compress(source, recipe, 2, statistics).compressed) {
      errors[one.name] = one.job->compute_measure().output_error;
    }
    return errors;
  };
  const auto before = errors_of(plain), after = errors_of(scaled);
  for (const NormGroup& group : norm_groups(demo())) {
    double ratio = 0;
    for (const std::string& weight : group.weights) {
      if (before.count(weight) != 0) ratio += after.at(weight) / before.at(weight);
    }
    ratio /= static_cast<double>(group.weights.size());
    if (scales.count(group.norm) != 0) {
      EXPECT_LT(ratio, 1) << group.norm;
    }
  }
}

}  // namespace
}  // namespace pippin::app
