// Differences between models: packages of one checkpoint in several forms, and their texts.

#include "pippin/app/facts/model_diff.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/compress.h"
#include "pippin/app/convert/convert.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/adapters_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using app::compare_models;
using app::ModelDiff;
using testing::HasSubstr;

constexpr char kSmall[] = R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 64,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 32})";

// A base, and one whose q_proj is another.
class ModelDiffTest : public testing::Test {
 protected:
  ModelDiffTest() {
    fixture.change("model.layers.0.self_attn.q_proj", 4, 0.5);
    fixture.write("");
    app::convert(fixture.base(), base, {});
  }

  adapters::Fixture fixture{kSmall, false};
  const fs::path base = fixture.scratch("base.mlpackage"), other = fixture.scratch("b.mlpackage");
};

TEST_F(ModelDiffTest, OfEqualModelsIsEmpty) {
  const ModelDiff diff = compare_models(base, base, {});
  EXPECT_TRUE(diff.is_equal());
  ASSERT_EQ(diff.programs.size(), 1);
  EXPECT_GT(diff.programs[0].weights.equal, 8);
  EXPECT_EQ(diff.programs[0].weights.bytes_a, diff.programs[0].weights.bytes_b);
  EXPECT_GE(diff.equal_texts, 1);  // config.json
  // A folder is compared as the package of it.
  const ModelDiff of_folder = compare_models(fixture.base(), base, {});
  EXPECT_TRUE(of_folder.programs[0].weights.changes.empty());
  EXPECT_TRUE(of_folder.programs[0].operations.empty());
}

TEST_F(ModelDiffTest, FindsAChangedWeight) {
  app::convert(fixture.merged(), other, {});
  const ModelDiff diff = compare_models(base, other, {});
  EXPECT_FALSE(diff.is_equal());
  const app::WeightDiff& weights = diff.programs.at(0).weights;
  ASSERT_EQ(weights.changes.size(), 1);
  const app::WeightChange& change = weights.changes[0];
  EXPECT_EQ(change.name, "model_layers_0_self_attn_q_proj_weight");
  EXPECT_EQ(change.form_a, "fp16 [64, 64]");
  EXPECT_EQ(change.form_a, change.form_b);
  // As the test computes it, of values that are rounded to fp16.
  const auto one = adapters::read_tensors(fixture.base()),
             two = adapters::read_tensors(fixture.merged());
  const auto& a = one.at("model.layers.0.self_attn.q_proj.weight").values;
  const auto& b = two.at("model.layers.0.self_attn.q_proj.weight").values;
  double error = 0, total = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += std::pow(double{b[i]} - a[i], 2);
    total += double{a[i]} * a[i];
    largest = std::max(largest, std::abs(double{b[i]} - a[i]));
  }
  EXPECT_NEAR(change.relative_error, std::sqrt(error / total), 1e-3);
  EXPECT_NEAR(change.largest_error, largest, 2e-3);
  EXPECT_LT(weights.relative_error, change.relative_error);
  EXPECT_GT(weights.relative_error, 0);

  const Json json = Json::parse(to_json(diff), "diff");
  EXPECT_FALSE(json.get_bool("equal"));
  const Json first = json.at("programs").at(size_t{0}).at("weights").at("changes").at(size_t{0});
  EXPECT_EQ(first.get_string("name"), change.name);
  EXPECT_EQ(first.get_float("relative_error"), change.relative_error);
}

TEST_F(ModelDiffTest, OfACompressedPackage) {
  app::CompressPackageOptions options;
  options.compression.quantize = "int8";
  app::compress_package(base, other, options);
  const ModelDiff diff = compare_models(base, other, {});
  const app::ProgramDiff& program = diff.programs.at(0);
  ASSERT_EQ(program.weights.changes.size(), 7);
  for (const app::WeightChange& change : program.weights.changes) {
    EXPECT_EQ(change.form_a.substr(0, 5), "fp16 ");
    EXPECT_THAT(change.form_b, HasSubstr("int8"));
    EXPECT_GT(change.relative_error, 1e-4);
    EXPECT_LT(change.relative_error, 2e-2);
  }
  EXPECT_LT(program.weights.bytes_b, program.weights.bytes_a * 2 / 3);
  EXPECT_GT(program.weights.bytes_b, program.weights.bytes_a / 3);
  bool has_expansions = false;
  for (const app::OperationChange& change : program.operations) {
    has_expansions = has_expansions || (change.type == "constexpr_blockwise_shift_scale" &&
                                        change.a == 0 && change.b == 7);
  }
  EXPECT_TRUE(has_expansions);
}

TEST_F(ModelDiffTest, OfInterfacesAndTexts) {
  app::ConvertOptions options;
  options.context = 16;
  app::convert(fixture.base(), other, options);
  const ModelDiff shorter = compare_models(base, other, {});
  const auto& interface = shorter.programs.at(0).interface;
  const auto mask = std::find_if(interface.begin(), interface.end(), [](const auto& change) {
    return change.place == "main, input causalMask";
  });
  ASSERT_NE(mask, interface.end());
  EXPECT_THAT(mask->a, HasSubstr("1..32]"));
  EXPECT_THAT(mask->b, HasSubstr("1..16]"));
  // Tables of positions are shorter.
  for (const app::WeightChange& change : shorter.programs.at(0).weights.changes) {
    EXPECT_FALSE(change.has_error) << change.name;
  }

  fs::copy(base, fixture.scratch("texts.mlpackage"), fs::copy_options::recursive);
  const fs::path config =
      fixture.scratch("texts.mlpackage") / "Data" / "huggingface" / "config.json";
  ASSERT_TRUE(fs::exists(config));
  std::ofstream(config, std::ios::app) << "\n\n";
  std::ofstream(config.parent_path() / "notes.txt") << "one\n";
  const ModelDiff texts = compare_models(base, fixture.scratch("texts.mlpackage"), {});
  ASSERT_EQ(texts.texts.size(), 2);
  EXPECT_EQ(texts.texts[0].name, "config.json");
  EXPECT_EQ(texts.texts[0].removed, 0);
  EXPECT_GE(texts.texts[0].added, 1);
  EXPECT_EQ(texts.texts[1].name, "notes.txt");
  EXPECT_FALSE(texts.texts[1].in_a);
  EXPECT_FALSE(texts.is_equal());
}

TEST_F(ModelDiffTest, RefusesWhatIsNoModel) {
  const auto error = [&](const fs::path& path) -> std::string {
    return thrown_message([&] { compare_models(base, path, {}); });
  };
  EXPECT_THAT(error("/nowhere"), HasSubstr("/nowhere: there is no such model"));
  EXPECT_THAT(error(fixture.adapter()), HasSubstr("no config.json"));
}

}  // namespace
}  // namespace pippin
