// Compares LoRA adapters that are merged, or are functions, with a model whose weights the test
// itself changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/adapters_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace adapters;
using models::BuildOptions;

std::vector<float> program_logits(mil::Model model, const std::string& adapter = "") {
  const auto runnable =
      runtime::make_runnable(std::move(model), {.threads = 1, .adapter = adapter});
  return runnable.model->new_sequence()->all_logits(std::vector<int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
}

void expect_merged(const Fixture& fixture, double direct_tolerance = 1e-5) {
  BuildOptions options;
  options.compute = BuildOptions::Compute::Float32Direct;
  const auto expected = program_logits(models::build(fixture.merged(), options));
  const auto unchanged = program_logits(models::build(fixture.base(), options));
  EXPECT_GT(largest_difference(unchanged, expected), 0.01);

  BuildOptions fused = options;
  fused.fused_adapter = fixture.adapter();
  EXPECT_LT(largest_difference(program_logits(models::build(fixture.base(), fused)), expected),
            direct_tolerance);
  BuildOptions separate = options;
  separate.adapters = {{"style", fixture.adapter()}, {"other", fixture.adapter()}};
  EXPECT_LT(largest_difference(program_logits(models::build(fixture.base(), separate), "style"),
                               expected),
            direct_tolerance);
  EXPECT_EQ(program_logits(models::build(fixture.base(), separate)), unchanged);

  // Through a package, whose functions share one copy of the weights.
  separate.compute = BuildOptions::Compute::Float16Package;
  const fs::path package = fixture.scratch("m.mlpackage");
  mil::write_package(models::build(fixture.base(), separate), package);
  mil::Model read = mil::read_package(package);
  EXPECT_TRUE(read.multifunction);
  EXPECT_EQ(read.metadata.user_defined.at("pippin.adapters"), "style,other");
  EXPECT_LT(largest_difference(program_logits(std::move(read), "other"), expected), 2e-2);
}

TEST(Adapters, ChangeTheMatricesOfLlama) {
  Fixture fixture(kLlama, false);
  for (const char* module : {"self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"}) {
    fixture.change(std::string("model.layers.0.") + module, 3, 5.0 / 3);
    fixture.change(std::string("model.layers.1.") + module, 3, 5.0 / 3);
  }
  fixture.change("lm_head", 2, 5.0 / 2);
  fixture.write(R"(, "r": 3, "lora_alpha": 5, "rank_pattern": {"lm_head": 2})");
  expect_merged(fixture);
}

TEST(Adapters, ChangeFusedAndTransposedMatrices) {
  Fixture fixture(kGpt2, true);
  fixture.change("transformer.h.0.attn.c_attn", 4, 2.0);
  fixture.change("transformer.h.1.mlp.c_fc", 4, 2.0);
  fixture.write(R"(, "r": 4, "lora_alpha": 8, "fan_in_fan_out": true)");
  expect_merged(fixture);
}

TEST(Adapters, ScalesByRootAndByPattern) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 6.0 / 2);
  fixture.change("model.layers.1.mlp.up_proj", 4, 1.0 / 2);
  fixture.write(R"(, "r": 4, "lora_alpha": 6, "use_rslora": true,
    "alpha_pattern": {"layers.1.mlp.up_proj": 1})");
  expect_merged(fixture);
}

TEST(Adapters, ChangeTheEmbeddingAndReplaceTensors) {
  Fixture fixture(kLlama, false);
  fixture.change_embedding("model.embed_tokens", 2, 4.0);
  fixture.replace("lm_head.weight");
  fixture.replace("model.layers.0.input_layernorm.weight");
  fixture.write(R"(, "r": 2, "lora_alpha": 8)");
  expect_merged(fixture);
}

TEST(Adapters, OfMlxLmAreReadToo) {
  Fixture fixture(kLlama, false);
  for (const char* module : {"self_attn.q_proj", "mlp.down_proj"}) {
    fixture.change(std::string("model.layers.1.") + module, 3, 20.0);
  }
  fixture.change_embedding("model.embed_tokens", 3, 20.0);
  fixture.write(R"(, "r": 3, "lora_alpha": 60)");
  write_mlx(fixture, R"({"fine_tune_type": "lora", "num_layers": 1,
      "lora_parameters": {"rank": 3, "scale": 20.0, "dropout": 0.0}})");
  expect_merged(fixture);

  Fixture full(kLlama, false);
  for (const char* part : {"mlp.up_proj", "mlp.down_proj", "self_attn.o_proj"}) {
    full.replace("model.layers.1." + std::string(part) + ".weight");
  }
  full.write("");
  write_mlx(full, R"({"fine_tune_type": "full", "num_layers": 1})");
  expect_merged(full);
}

TEST(Adapters, OfMlxLmThatDoNotFitAreRefusedByName) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 1.0);
  fixture.write("");
  const auto refusal = [&](const char* settings) -> std::string {
    write_file(fixture.adapter() / "adapter_config.json", settings);
    return thrown_message(
        [&] { models::build(fixture.base(), {.fused_adapter = fixture.adapter()}); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(R"({"fine_tune_type": "other", "lora_parameters": {"scale": 1}})"),
              HasSubstr("fine_tune_type: 'other' is not supported (known: lora, dora, full)"));
  EXPECT_THAT(refusal(R"({"lora_parameters": {"rank": 4, "alpha": 16, "scale": 1}})"),
              HasSubstr("lora_parameters.alpha: 16 is not supported"));
  EXPECT_THAT(refusal(R"({"lora_parameters": {"rank": 4, "scale": 1}})"),
              HasSubstr("neither adapters.safetensors nor adapters.npz"));
}

std::string error_of(const Fixture& fixture, const std::string& settings) {
  fixture.write(settings);
  BuildOptions options;
  options.fused_adapter = fixture.adapter();
  return thrown_message([&] { models::build(fixture.base(), options); });
}

TEST(Adapters, WhatDoesNotFitIsRefusedByName) {
  Fixture fixture(kLlama, false);
  fixture.change("model.layers.0.mlp.up_proj", 4, 1.0);
  using testing::HasSubstr;
  EXPECT_THAT(error_of(fixture, R"(, "use_dora": true)"),
              HasSubstr("'model.layers.0.mlp.up_proj' has no lora_magnitude_vector"));
  EXPECT_THAT(error_of(fixture, R"(, "peft_type": "IA3")"), HasSubstr("peft_type 'IA3'"));
  EXPECT_THAT(error_of(fixture, R"(, "alpha_pattern": {"(": 1})"), HasSubstr("alpha_pattern"));
  EXPECT_EQ(error_of(fixture, ""), "no error");

  Fixture other(R"({"model_type": "llama", "vocab_size": 19, "hidden_size": 24,
    "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 32})",
                false);
  other.change("model.layers.1.mlp.up_proj", 4, 1.0);
  other.write("");
  BuildOptions options;
  options.adapters = {{"style", other.adapter()}};
  const auto build_error = [&]() -> std::string {
    return thrown_message([&] { models::build(fixture.base(), options); });
  };
  EXPECT_THAT(build_error(), HasSubstr("has shape [4, 24], the model needs [4, 16]"));
  options.adapters = {{"1style", fixture.adapter()}};
  EXPECT_THAT(build_error(), HasSubstr("\"1style\" is not a valid function name"));
  options.adapters = {{"style", fixture.adapter()}, {"style", fixture.adapter()}};
  EXPECT_THAT(build_error(), HasSubstr("two functions"));
}

}  // namespace
}  // namespace pippin
