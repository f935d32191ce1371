// Adapters that each sequence chooses: the logits of a model whose weights the test itself changed,
// on folders and packages, alone and in shared passes.

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/run_adapter.h"
#include "pippin/runtime/sequence.h"
#include "tests/run_adapters_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace adapters;
using runtime::RunAdapter;
using testing::HasSubstr;

std::string error_of(const fs::path& path, const std::vector<RunAdapter>& adapters) {
  return thrown_message([&] { open(path, adapters); });
}

TEST(RunAdapters, EqualMergedWeights) {
  Fixture fixture(kLlama, false);
  change_all(fixture, 3, 5.0 / 3);
  fixture.write(R"(, "r": 3, "lora_alpha": 5)");
  expect_same_as_merged(fixture);
}

TEST(RunAdapters, OfJoinedAndTransposedMatrices) {
  Fixture fixture(kGpt2, true);
  fixture.change("transformer.h.0.attn.c_attn", 4, 2.0);
  fixture.change("transformer.h.1.mlp.c_fc", 4, 2.0);
  fixture.write(R"(, "r": 4, "lora_alpha": 8, "fan_in_fan_out": true)");
  expect_same_as_merged(fixture);
}

TEST(RunAdapters, WithRanksAndScalesByModule) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 6.0 / 2);
  fixture.change("model.layers.1.mlp.up_proj", 2, 1.0 / std::sqrt(2.0));
  fixture.change_embedding("model.embed_tokens", 4, 3.0);
  fixture.write(R"(, "r": 4, "lora_alpha": 6, "use_rslora": true,
    "rank_pattern": {"layers.1.mlp.up_proj": 2}, "alpha_pattern": {"layers.1.mlp.up_proj": 1})");
  expect_same_as_merged(fixture);
}

TEST(RunAdapters, OfMlxLm) {
  Fixture fixture(kLlama, false);
  change_all(fixture, 3, 10.0);
  fixture.write("");
  write_mlx(fixture, R"({"fine_tune_type": "lora", "num_layers": 2,
      "lora_parameters": {"rank": 3, "scale": 10.0, "dropout": 0.0}})");
  expect_same_as_merged(fixture);
}

TEST(RunAdapters, ByDora) {
  Fixture fixture(kLlama, false);
  fixture.change_by_dora("model.layers.0.self_attn.q_proj", 3, 2.0);
  fixture.change_by_dora("model.layers.0.mlp.down_proj", 3, 2.0);
  fixture.change("model.layers.1.mlp.up_proj", 3, 2.0);
  fixture.write(R"(, "r": 3, "lora_alpha": 6)");
  expect_same_as_merged(fixture);

  Fixture joined(kGpt2, true);  // with biases
  joined.change_by_dora("transformer.h.0.attn.c_attn", 4, 2.0);
  joined.change_by_dora("transformer.h.1.mlp.c_proj", 4, 2.0);
  joined.write(R"(, "r": 4, "lora_alpha": 8, "use_dora": true)");
  expect_same_as_merged(joined);

  Fixture mlx(kLlama, false);
  mlx.change_by_dora("model.layers.1.mlp.up_proj", 3, 2.0);
  mlx.write("");
  write_mlx(mlx, R"({"fine_tune_type": "dora", "lora_parameters": {"rank": 3, "scale": 2}})");
  expect_same_as_merged(mlx);
}

TEST(RunAdapters, ReplaceTensors) {
  Fixture fixture(kLlama, false);
  for (const char* tensor :
       {"lm_head.weight", "model.embed_tokens.weight", "model.norm.weight",
        "model.layers.0.input_layernorm.weight", "model.layers.1.mlp.up_proj.weight"}) {
    fixture.replace(tensor);
  }
  fixture.change("model.layers.1.self_attn.q_proj", 2, 4.0);
  fixture.write(R"(, "r": 2, "lora_alpha": 8, "modules_to_save": ["lm_head", "embed_tokens"])");
  expect_same_as_merged(fixture);

  // Biases, layer norms, a joined and transposed matrix.
  Fixture gpt2(kGpt2, true);
  for (const char* tensor :
       {"h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.1.mlp.c_proj.bias", "ln_f.weight",
        "h.1.ln_1.bias", "h.0.ln_2.weight"}) {
    gpt2.replace(std::string("transformer.") + tensor);
  }
  gpt2.change_by_dora("transformer.h.1.attn.c_attn", 2, 1.0);
  gpt2.write(R"(, "r": 2, "lora_alpha": 2, "bias": "all")");
  expect_same_as_merged(gpt2);
}

// Gemma's norms multiply by 1 + weight. A head that is the table stays the model's, unless the
// adapter has one.
TEST(RunAdapters, ReplaceNormsOfOnePlusAndTiedHeads) {
  Fixture fixture(kGemma, false);
  fixture.replace("model.norm.weight");
  fixture.replace("model.layers.0.post_attention_layernorm.weight");
  fixture.write("");
  expect_same_as_merged(fixture);

  Fixture table(kTiedLlama, false);
  table.replace("model.embed_tokens.weight");
  table.keep_tied_head("model.embed_tokens.weight");
  table.write("");
  expect_same_as_merged(table);

  Fixture head(kTiedLlama, false);
  head.replace_head("model.embed_tokens.weight");
  head.write("");
  expect_same_as_merged(head);
}

// On the matrices of a package in few bits: those that DoRA measures are the expanded ones.
TEST(RunAdapters, OnCompressedPackages) {
  Fixture fixture(R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 64,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 32})",
                  false);
  fixture.change("model.layers.0.self_attn.q_proj", 4, 8.0);
  fixture.change("model.layers.0.mlp.down_proj", 4, 8.0);
  fixture.write(R"(, "r": 4, "lora_alpha": 32)");
  const fs::path package = fixture.scratch("base.mlpackage"),
                 small = fixture.scratch("small.mlpackage");
  convert(fixture.base(), package);
  mil::Model model_of_package = mil::read_package(package);
  compress::Recipe recipe;
  recipe.scheme = compress::parse_scheme("int8");
  compress::compress(model_of_package, recipe, 1);
  mil::WriteOptions options;
  options.extra_files = models::package_files(fixture.base());
  mil::write_package(model_of_package, small, options);
  const std::vector<RunAdapter> adapters = {{"style", fixture.adapter(), 1, true}};
  const auto model = open(small, adapters);
  EXPECT_EQ(logits_of(*model, {0}), logits_of(*open(small)));
  const auto expected = logits_of(*open(fixture.merged()));
  EXPECT_LT(3 * largest_difference(logits_of(*model), expected),
            largest_difference(logits_of(*model, {0}), expected));
}

// Two adapters on some of the same matrices, with different ranks.
class Two : public testing::Test {
 protected:
  Two() {
    change_all(first, 3, 2.0);
    first.write(R"(, "r": 3, "lora_alpha": 6)");
    second.change("model.layers.1.self_attn.q_proj", 2, 4.0);
    second.change("model.layers.0.mlp.down_proj", 2, 4.0);
    second.write(R"(, "r": 2, "lora_alpha": 8)");
    model = open(first.base(),
                 {{"first", first.adapter(), 1, false}, {"second", second.adapter(), 0.5F, false}});
  }

  Fixture first{kLlama, false, 3}, second{kLlama, false, 4};
  std::shared_ptr<runtime::Model> model;
};

TEST_F(Two, AddUp) {
  const auto alone = [&](const Fixture& fixture, float scale) {
    return logits_of(*open(first.base(), {{"one", fixture.adapter(), scale, true}}));
  };
  const auto plain = logits_of(*open(first.base()));
  EXPECT_EQ(logits_of(*model), plain);
  EXPECT_LT(largest_difference(logits_of(*model, {1, 0}), alone(first, 1)), 1e-5);
  EXPECT_LT(largest_difference(logits_of(*model, {0, 0.25F}), alone(second, 0.25F)), 1e-5);
  const auto both = logits_of(*model, {1, 0.5F});
  EXPECT_GT(largest_difference(both, alone(first, 1)), 0.01);
  // One after the other, on merged weights.
  const auto merged = logits_of(*open(first.merged(), {{"second", second.adapter(), 0.5F, true}}));
  EXPECT_LT(largest_difference(both, merged), 1e-5);
  // A number of -1 takes a merged change away.
  EXPECT_LT(largest_difference(
                logits_of(*open(first.merged(), {{"first", first.adapter(), -1, true}})), plain),
            1e-4);
}

TEST_F(Two, ShareAPass) {
  const std::vector<std::vector<float>> choices = {{0, 0}, {1, 0}, {0, 0.5F}, {1, -0.5F}};
  runtime::Batch batch(model);
  std::vector<std::unique_ptr<runtime::Sequence>> alone, together;
  for (const auto& numbers : choices) {
    for (auto* const sequences : {&alone, &together}) {
      sequences->push_back(model->new_sequence());
      sequences->back()->set_adapters(numbers);
      sequences->back()->prefill(kIds);
    }
  }
  for (int32_t id = 0; id < 4; ++id) {
    batch.clear();
    for (const auto& sequence : together) batch.add(*sequence, id);
    batch.run();
    for (size_t i = 0; i < choices.size(); ++i) {
      const auto expected = alone[i]->decode(id);
      const auto found = batch.logits(i);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end())) << i;
    }
  }
}

TEST_F(Two, AreKeptByForksAndFiles) {
  const auto sequence = model->new_sequence();
  EXPECT_EQ(std::vector<float>(sequence->adapters().begin(), sequence->adapters().end()),
            std::vector<float>({0, 0}));
  sequence->set_adapters(std::vector<float>{1, 0});
  sequence->prefill(kIds);
  const auto fork = sequence->fork();
  const fs::path file = first.scratch("sequence");
  sequence->save(file);
  const auto decoded = sequence->decode(7);
  const std::vector<float> expected(decoded.begin(), decoded.end());
  const auto of_fork = fork->decode(7);
  EXPECT_EQ(std::vector<float>(of_fork.begin(), of_fork.end()), expected);

  const auto other = model->new_sequence();
  EXPECT_THROW(other->restore(file), Error);  // without the adapter
  other->set_adapters(std::vector<float>{1, 0});
  other->restore(file);
  const auto restored = other->decode(7);
  EXPECT_EQ(std::vector<float>(restored.begin(), restored.end()), expected);
  try {
    other->set_adapters(std::vector<float>{0, 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there are 9 tokens"));
  }
  other->reset();
  EXPECT_THROW(other->set_adapters(std::vector<float>{0}), Error);
  EXPECT_THROW(other->set_adapters(std::vector<float>{0, INFINITY}), Error);
  other->set_adapters(std::vector<float>{0, 1});
}

TEST(RunAdapters, WithoutAdaptersProgramsAreUnchanged) {
  Fixture fixture(kLlama, false);
  EXPECT_EQ(models::build(fixture.base()).description("main").inputs.size(), 2);
  EXPECT_TRUE(open(fixture.base())->adapters().empty());
}

TEST(RunAdapters, HaveNamesOfTheirOwn) {
  const TempDir folder;
  const auto error = [&](std::vector<RunAdapter> adapters) -> std::string {
    runtime::LoadOptions options;
    options.run_adapters = std::move(adapters);
    try {
      runtime::name_run_adapters(options);
    } catch (const Error& fault) {
      return fault.what();
    }
    return options.run_adapters.front().name;
  };
  const std::string path = folder.path().string();
  EXPECT_EQ(error({{"", path}}), folder.path().filename());
  EXPECT_EQ(error({{"a", path}, {"b", path}}), "a");
  EXPECT_THAT(error({{"a", path}, {"a", path}}), HasSubstr("two adapters are called a"));
  EXPECT_THAT(error({{"a", "/nowhere"}}), HasSubstr("/nowhere: there is no such adapter"));
  EXPECT_THAT(error({{"a:b", path}}), HasSubstr("'a:b'"));
}

TEST(RunAdapters, ThatDoNotFitAreRefusedByName) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 1.0);
  fixture.write("");
  const fs::path adapter = fixture.adapter();
  EXPECT_EQ(error_of(fixture.base(), {{"a", adapter}}), "no error");

  Fixture other(R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 24,
    "intermediate_size": 12, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": 32})",
                false);
  other.change("model.layers.1.mlp.up_proj", 4, 1.0);
  other.write("");
  EXPECT_THAT(error_of(fixture.base(), {{"a", other.adapter()}}),
              HasSubstr("has shape [4, 24], the model needs [4, 16]"));
  Fixture deeper(R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 16,
    "intermediate_size": 12, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": 32})",
                 false);
  deeper.change("model.layers.2.mlp.up_proj", 4, 1.0);
  deeper.write("");
  EXPECT_THAT(error_of(fixture.base(), {{"a", deeper.adapter()}}),
              HasSubstr("'base_model.model.model.layers.2.mlp.up_proj.lora_A.weight' of shape [4, "
                        "16] changes no linear layer of the model (and 1 more)"));

  Fixture replacing(kLlama, false);
  replacing.add_tensor("model.layers.0.mlp.kernel", {16, 3});
  replacing.write("");
  EXPECT_THAT(
      error_of(fixture.base(), {{"a", replacing.adapter()}}),
      HasSubstr("'base_model.model.model.layers.0.mlp.kernel' replaces one of the model's"));

  // A truncated file.
  const fs::path file = adapter / "adapter_model.safetensors";
  fs::resize_file(file, fs::file_size(file) - 4);
  EXPECT_THAT(error_of(fixture.base(), {{"a", adapter}}), HasSubstr("adapter_model.safetensors"));
}

TEST(RunAdapters, AreParsed) {
  const auto parsed = [](const char* text) {
    const RunAdapter adapter = runtime::parse_run_adapter(text);
    return fmt::format("{} {} {}", adapter.name, adapter.path, adapter.scale);
  };
  EXPECT_EQ(parsed("path/to/style"), "style path/to/style 1");
  EXPECT_EQ(parsed("path/to/style/"), "style path/to/style/ 1");
  EXPECT_EQ(parsed("style:0.5"), "style style 0.5");
  EXPECT_EQ(parsed("formal=path/to/style:-2"), "formal path/to/style -2");
  EXPECT_EQ(parsed("a/b=c"), "b=c a/b=c 1");
  for (const char* wrong : {"", "=x", "x:", "x:y", "x:nan", "x:1e99", "a=", ":1"}) {
    EXPECT_THROW(runtime::parse_run_adapter(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace pippin
