// The decoders of data/models2026 against what transformers 5 computes of them: from the folder,
// with its configuration as published and as transformers 5 saves it, and from packages.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/broken_config.h"
#include "tests/expect_golden.h"
#include "tests/families_testing.h"
#include "tests/golden_testing.h"

namespace pippin {
namespace {

using models::BuildOptions;
using testing_models::expect_golden;
using testing_models::Golden;
using testing_models::kNone;

const std::string kPlace = "models2026/text/";

// One checkpoint; errors as in architectures_test.cpp.
struct Case {
  const char* name;
  double half_error;
  // Why the family `anemll` cannot hold it; empty: it can.
  const char* refused = "";
  size_t near_tie = kNone;
  size_t flip = kNone;  // the length of the prompt: a generated token's

  double half_tolerance() const { return 2e-4 * half_error; }
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class TextModel : public testing::TestWithParam<Case> {
 protected:
  static std::string name() { return kPlace + GetParam().name; }
};

constexpr double kTolerance = 1e-4;

// 128 tokens, or as many as the model was made for.
int64_t context_of(const std::filesystem::path& folder) {
  return std::min<int64_t>(128, models::describe(folder).decoder.context);
}

// As many generated tokens as have room in that.
Golden golden_of(const std::filesystem::path& folder) {
  Golden golden(folder);
  const auto room = static_cast<size_t>(context_of(folder)) - golden.prompt.size();
  golden.generated.resize(std::min(golden.generated.size(), room));
  return golden;
}

void expect_folder(const std::filesystem::path& folder, const Golden& golden) {
  const mil::Model model = models::build(
      folder, {.context = context_of(folder), .compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  ThreadPool pool(1);
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    const runtime::LoadOptions options = {.prefill_chunk = chunk,
                                          .compute = {.precision = engine::Precision::Exact}};
    const auto sequence = runtime::make_stateful_model(model, pool, options)->new_sequence();
    expect_golden(*sequence, golden, kTolerance);
  }
}

TEST_P(TextModel, FolderInExact) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  expect_folder(folder, golden_of(folder));
}

TEST_P(TextModel, ConfigurationOfTransformers5) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  if (!std::filesystem::exists(folder / "config_saved.json")) return;  // config.json is one
  const TempDir saved;
  std::filesystem::create_symlink(folder / "model.safetensors", saved / "model.safetensors");
  std::filesystem::create_symlink(folder / "config_saved.json", saved / "config.json");
  expect_folder(saved.path(), golden_of(folder));
}

TEST_P(TextModel, StatefulPackage) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder, {.context = context_of(folder)}), path);
  const mil::Model model = mil::read_package(path);
  ThreadPool pool(1);
  const auto sequence = runtime::make_stateful_model(model, pool, {})->new_sequence();
  const Golden golden = golden_of(folder);
  const double error =
      max_difference(sequence->all_logits(golden.prompt), golden.logits) / golden.largest_logit();
  RecordProperty("half_error", std::to_string(error * 1e4));
  sequence->reset();
  expect_golden(*sequence, golden, GetParam().half_tolerance(), GetParam().near_tie,
                GetParam().flip);
}

TEST_P(TextModel, AnemllPackages) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const std::string refused = GetParam().refused;
  if (!refused.empty()) {
    EXPECT_ERROR(models::Anemll(folder, {.context = context_of(folder), .batch = 4}),
                 ErrorCode::Unsupported, refused);
    return;
  }
  const Golden golden = golden_of(folder);
  const models::Anemll family(folder, {.context = context_of(folder), .batch = 4});
  std::vector<models::PackagePart> parts;
  parts.push_back(family.embeddings());
  for (int64_t i = 0; i < 2; ++i) parts.push_back(family.chunk(i, 2));
  parts.push_back(family.head());
  std::vector<const mil::Model*> packages;
  for (const auto& part : parts) {
    mil::verify(part.model.program);
    packages.push_back(&part.model);
  }
  AnemllRun run(packages);
  const size_t batches = golden.prompt.size() / 8;
  for (size_t i = 0; i < batches; ++i) {
    run.prefill(std::span(golden.prompt).subspan(4 * i, 4), static_cast<int64_t>(4 * i));
  }
  double worst = 0;
  for (size_t i = 4 * batches; i < golden.prompt.size(); ++i) {
    const auto row = run.infer(golden.prompt[i], static_cast<int64_t>(i));
    const auto want = std::span(golden.logits).subspan(i * golden.vocabulary, golden.vocabulary);
    worst = std::max(worst, max_difference(row, want));
  }
  // As families_test.cpp has it.
  EXPECT_LE(worst, std::max(2e-2, GetParam().half_tolerance()) * golden.largest_logit());
}

constexpr const char* kNoConvolution = "a causal convolution has no form for this package family";
constexpr const char* kNoExperts = "experts have no form for this package family";
constexpr const char* kNoGate = "a gated output has no form for this package family";
constexpr const char* kNoLatent = "latent attention has no form for this package family";
constexpr const char* kNoTemperature = "attention with temperatures has no form for this package";
constexpr const char* kNoSinks = "attention with sinks has no form for this package family";
constexpr const char* kNoNarrowValues = "values of another size have no form for this package";
constexpr const char* kNoRows = "rows of a table for each layer have no form for this package";
constexpr const char* kNoCompressed = "compressed attention has no form for this package family";
constexpr const char* kNoDistances = "scores of distances have no form for this package family";
constexpr const char* kNoRecurrence = "a recurrence has no form for this package family";
constexpr const char* kOneSize = "the family's state has one size";
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"gpt_sw3", 7},
      {"olmo_hybrid", 118, kNoConvolution},
      {"qwen3_5_wrap", 93, kNoConvolution},
      {"qwen3_5_moe_wrap", 82, kNoConvolution, kNone, 48},
      {"qwen3_5_moe_text", 222, kNoConvolution},
      {"gemma4_e2b", 324, kNoRows},
      {"gemma4_31b", 22, kOneSize},
      {"gemma4_26b_a4b", 47, kNoExperts},
      {"gemma4_unified_text", 34, kOneSize},
      {"nemotron_h", 18, kNoConvolution},
      {"nemotron_h_latent", 4, kNoConvolution},
      {"glm4_moe_lite", 35, kNoLatent},
      {"minimax_m2", 402, kNoExperts},
      {"ministral3", 47, kNoTemperature},
      {"afmoe", 9, kNoGate},
      {"exaone_moe", 49, kNoExperts},
      {"cwm", 55},
      {"hyperclovax", 11},
      {"jais2", 29},
      {"nanochat", 20},
      {"emu3_text", 27},
      {"granite_swa", 9, kNoSinks},
      {"granitemoe_swa", 7, kNoSinks},
      {"persimmon", 12},
      {"codegen", 13},
      {"gpt_neo", 14},
      {"gpt_neox_japanese", 10},
      {"openai_gpt", 22},
      {"glm4v_text", 11},
      {"qwen3_vl_moe_text", 5, kNoExperts},
      {"qwen3_omni_thinker", 6, kNoExperts},
      {"exaone4_5_text", 8},
      {"kimi_k25_text", 10, kNoLatent},
      {"hunyuan_vl_text", 4},
      {"solar_open", 31, kNoExperts},
      {"hy_v3", 28, kNoExperts},
      {"laguna", 20, kNoGate},
      {"mellum", 7, kNoExperts},
      {"cohere2_moe", 17, kNoExperts},
      {"aria_text", 16, kNoExperts},
      {"mistral4", 50, kNoLatent, kNone, 48},
      {"youtu", 34, kNoLatent},
      {"minicpm3", 27, kNoLatent},
      {"axk1", 10, kNoLatent},
      {"ctrl", 3},
      {"xglm", 9},
      {"biogpt", 21},
      {"phi4_multimodal", 15},
      {"ernie4_5_vl_moe_text", 13, kNoExperts},
      {"deepseek_v32", 33, kNoLatent},
      {"glm_moe_dsa", 40, kNoLatent, kNone, 8},
      {"mimo_v2_flash", 23, kNoNarrowValues, kNone, 48},
      {"modernbert_decoder", 18},
      {"mllama_text", 8},
      {"step3p7_text", 11, kNoGate},
      {"axk2", 7, kNoLatent, kNone, 48},
      {"muse_glimmer_text", 36, kNoGate},
      {"cohere_compass_text", 14},
      {"zamba", 36, kNoConvolution},
      {"doge", 16},
      {"diffllama", 46},
      {"jetmoe", 22, kNoExperts},
      {"minimax_m3_text", 16, kNoExperts, kNone, 60},
      {"hrm_text", 2, kNoGate},
      {"zaya", 12, kNoConvolution},
      {"deepseek_v4", 22, kNoCompressed, kNone, 64},
      {"inkling", 15, kNoDistances, kNone, 2},
      {"rwkv", 20, kNoRecurrence},
      {"xlstm", 40, kNoRecurrence},
  };
  return all;
}

TEST(TextModels, EveryGoldenIsHere) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "models2026/text");
  std::set<std::string> known;
  for (const Case& one : cases()) known.insert(one.name);
  for (const auto& folder : folders) {
    const std::string name = folder.filename().string();
    SCOPED_TRACE(name);
    EXPECT_TRUE(known.contains(name));
  }
}

// Impossible settings of a configuration are rejected by key and value.
TEST(TextModels, ConfigurationErrorsNameKeyAndValue) {
  const BrokenConfig broken[] = {
      {"qwen3_5_moe_text", "layer_types",
       R"(["linear_attention", "full_attention", "spiral_attention", "full_attention"])",
       "config.json: layer_types: 'spiral_attention' is not supported"},
      {"qwen3_5_moe_text", "layer_types", R"(["full_attention"])",
       "config.json: layer_types: 1 for 4 layers"},
      {"nemotron_h_latent", "layers_block_type", R"(["linear_attention", "spiral"])",
       "config.json: layers_block_type: 'spiral' is not supported"},
      {"nemotron_h_latent", "n_group", "4", "config.json: n_group: 4 groups of 6 experts"},
      {"mellum", "mlp_layer_types", R"(["dense", "dense"])",
       "config.json: mlp_layer_types: 2 for 4 layers"},
      {"gemma4_unified_text", "per_layer_config", R"({"9": {"head_dim": 16}})",
       "'9' is not the number of one of 4 layers"},
      {"gemma4_unified_text", "per_layer_config", R"({"3": {"rms_norm_eps": 1}})",
       "rms_norm_eps: 1 for one layer is not supported"},
      {"laguna", "num_attention_heads_per_layer", "[4, 4]",
       "config.json: num_attention_heads_per_layer: 2 for 4 layers"},
      {"axk2", "n_group", "3", "config.json: n_group: 3 groups of 8 experts"},
      {"cohere_compass_text", "layer_types", R"(["full_attention"])",
       "config.json: layer_types: 1 for 4 layers"},
      {"zamba", "layers_block_type", R"(["hybrid"])",
       "config.json: layers_block_type: 1 for 5 layers"},
      {"zamba", "layers_block_type", R"(["hybrid", "mamba", "spiral", "mamba", "hybrid"])",
       "config.json: layers_block_type: 'spiral' is not supported"},
      {"doge", "is_moe", "true", "config.json: is_moe: experts by product keys"},
      {"diffllama", "num_attention_heads", "3", "config.json: num_attention_heads: 3 is "},
      {"jetmoe", "num_experts_per_tok", "1",
       "config.json: num_attention_heads: 4 is not num_key_value_heads 2 * num_experts_per_tok 1"},
      {"minimax_m3_text", "layer_types", R"(["full_attention"])",
       "config.json: layer_types: 1 for 3 layers"},
      {"minimax_m3_text", "mlp_layer_types", R"(["dense", "spiral", "sparse"])",
       "config.json: mlp_layer_types: 'spiral' is not supported"},
      {"minimax_m3_text", "sparse_attention_config", R"({"sparse_topk_blocks": 0})",
       "sparse_topk_blocks: expected an integer from 1 to"},
      {"hrm_text", "H_cycles", "100000", "config.json: H_cycles: "},
      {"zaya", "layer_types", R"(["hybrid", "spiral", "hybrid", "hybrid"])",
       "config.json: layer_types: 'spiral' is not supported"},
      {"zaya", "num_experts_per_tok", "2", "config.json: num_experts_per_tok: 2 is not 1"},
      {"zaya", "rope_parameters", R"({"rope_theta": 1})",
       "config.json: rope_parameters: hybrid: missing"},
      {"deepseek_v4", "layer_types", R"(["sliding_attention", "spiral", "spiral", "spiral"])",
       "config.json: layer_types: 'spiral' is not supported"},
      {"deepseek_v4", "layer_types", R"(["sliding_attention"])",
       "config.json: layer_types: 1 for 4 layers"},
      {"deepseek_v4", "mlp_layer_types", R"(["hash_moe"])",
       "config.json: mlp_layer_types: 1 for 4 layers"},
      {"deepseek_v4", "num_key_value_heads", "2", "config.json: num_key_value_heads: 2 is not 1"},
      {"deepseek_v4", "hc_mult", "60000", "config.json: hc_mult: 60000 is not between 1 and 64"},
      {"deepseek_v4", "hc_sinkhorn_iters", "60000",
       "config.json: hc_sinkhorn_iters: 60000 is not between 1 and 100"},
      {"inkling", "dense_intermediate_size", "0",
       "config.json: dense_intermediate_size: 0 is not between"},
      {"inkling", "layer_types", R"(["hybrid"])", "config.json: layer_types: 1 for 4 layers"},
      {"xlstm", "num_heads", "3", "config.json: num_heads: 3 heads of "},
  };
  const int refused =
      expect_refused(kPlace, broken, [](const auto& path) { models::describe(path); });
  if (refused == 0) GTEST_SKIP() << shared_data_absent("models2026");
}

INSTANTIATE_TEST_SUITE_P(Models, TextModel, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
