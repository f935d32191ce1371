// Compares every dense architecture with Hugging Face's own logits and greedy continuations: tiny
// random checkpoints, from the folder in fp32 and from the converted package in fp16.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/npz.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/broken_config.h"
#include "tests/expect_golden.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"

namespace pippin {
namespace {

using models::BuildOptions;
using testing_models::Golden;

using testing_models::expect_golden;
using testing_models::kNone;

// One checkpoint, with the measured error of its fp16 package relative to the largest logit, in
// 1/10000. The error comes from rounding the weights and agrees within 1 % between scalar, AVX2 and
// AVX-512 kernels, so twice the value is a fault.
struct Case {
  const char* name;
  double half_error;
  // The generated token where two logits nearly tie: they are closer than the error.
  size_t near_tie = kNone;
  const char* folder = "architectures";
  // With compressed weights Fast rounds activations as well.
  engine::Precision precision = engine::Precision::Fast;
  // The first token of the prompt that goes to another expert in fp16, because two nearly tie; it
  // influences later tokens.
  size_t flip = kNone;
  // The experts tie exactly, at the score of masked experts, so the token flips in fp32 as well:
  // Hugging Face's choice depends on its sort.
  bool ties = false;

  double half_tolerance() const { return 2e-4 * half_error; }
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class Architecture : public testing::TestWithParam<Case> {
 protected:
  static std::string name() { return std::string(GetParam().folder) + "/" + GetParam().name; }
};

// Measured: 1e-5.
constexpr double kFloat32Tolerance = 2e-5;

TEST_P(Architecture, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const Golden golden(folder);
  const mil::Model model =
      models::build(folder, {.context = 128, .compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  ThreadPool pool(1);
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    const runtime::LoadOptions options = {.prefill_chunk = chunk,
                                          .compute = {.precision = GetParam().precision}};
    const auto runner = runtime::make_stateful_model(model, pool, options)->new_sequence();
    expect_golden(*runner, golden, kFloat32Tolerance, kNone,
                  GetParam().ties ? GetParam().flip : kNone);
  }
}

TEST_P(Architecture, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const Golden golden(folder);
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder, {.context = 128}), path);
  const mil::Model model = mil::read_package(path);
  ThreadPool pool(1);
  const runtime::LoadOptions options = {.compute = {.precision = GetParam().precision}};
  const auto runner = runtime::make_stateful_model(model, pool, options)->new_sequence();
  expect_golden(*runner, golden, GetParam().half_tolerance(), GetParam().near_tie, GetParam().flip);
}

// Settings that no golden checkpoint has. The oracle is the reference interpreter, which runs the
// prompt in one pass; the engine runs it in one pass, in chunks and token by token.
class Variant : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Variant, AgreesWithTheReference) {
  const std::string sizes =
      R"("vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,)";
  const TempDir dir;
  models::write_random_model(dir.path(), "{" + sizes + GetParam().second + "}");
  const mil::Model model =
      models::build(dir.path(), {.compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 24; ++i) prompt.push_back(i * 7 % 40);
  const engine::ReferenceInterpreter interpreter(model.program, "main");
  engine::ReferenceState state;
  const std::vector<double> want = reference_logits(interpreter, state, prompt, 0);
  // Measured: 4e-7 of the largest logit, a few roundings to fp32.
  const double allowed = 1e-6 * testing_models::largest(want);
  ThreadPool pool(1);
  for (const int64_t chunk : {256, 5, 1}) {
    const auto runner =
        runtime::make_stateful_model(model, pool, {.prefill_chunk = chunk})->new_sequence();
    EXPECT_LE(max_difference(runner->all_logits(prompt), want), allowed) << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Variant,
    testing::Values(
        std::pair{"opt_350m", R"("model_type": "opt", "do_layer_norm_before": false,
                  "word_embed_proj_dim": 8, "ffn_dim": 24, "max_position_embeddings": 64)"},
        std::pair{"opt_no_biases", R"("model_type": "opt", "enable_bias": false, "ffn_dim": 24,
                  "layer_norm_elementwise_affine": false, "tie_word_embeddings": false)"},
        std::pair{"bigcode_heads", R"("model_type": "gpt_bigcode", "multi_query": false)"},
        std::pair{"bloom_carried", R"("model_type": "bloom", "seq_length": 128,
                  "apply_residual_connection_post_layernorm": true)"},
        std::pair{"falcon_serial", R"("model_type": "falcon", "parallel_attn": false,
                  "rope_scaling": {"type": "linear", "factor": 2.0})"},
        std::pair{"falcon_groups", R"("model_type": "falcon", "new_decoder_architecture": true,
                  "num_kv_heads": 2, "bias": true)"},
        std::pair{"mpt_scaled", R"("model_type": "mpt", "attn_config": {"alibi_bias_max": 4,
                  "clip_qkv": 0.1, "softmax_scale": 0.3})"},
        std::pair{"smollm3_sliding", R"("model_type": "smollm3", "intermediate_size": 24,
                  "num_key_value_heads": 2, "use_sliding_window": true, "sliding_window": 6,
                  "no_rope_layers": [1, 0], "attention_bias": true, "mlp_bias": true)"},
        std::pair{"exaone4_letters", R"("model_type": "exaone4", "intermediate_size": 24,
                  "num_key_value_heads": 4, "sliding_window": 5, "sliding_window_pattern": "LG")"},
        std::pair{"olmo3_yarn", R"("model_type": "olmo3", "intermediate_size": 24,
                  "sliding_window": 5, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                  "original_max_position_embeddings": 16}, "attention_bias": true)"},
        std::pair{"gptj_untied", R"("model_type": "gptj", "rotary_dim": 2)"},
        std::pair{"hunyuan_alpha", R"("model_type": "hunyuan_v1_dense", "intermediate_size": 24,
                  "rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0})"},
        std::pair{"openelm_plain", R"("model_type": "openelm", "head_dim": 4,
                  "num_query_heads": [2, 4], "num_kv_heads": [1, 2], "ffn_with_glu": false,
                  "ffn_dim_divisor": 8, "share_input_output_layers": false)"},
        std::pair{"phi_wide", R"("model_type": "phi", "intermediate_size": 24, "head_dim": 8)"},
        std::pair{"gemma2_plain", R"("model_type": "gemma2", "intermediate_size": 24,
                  "head_dim": 6, "num_key_value_heads": 1, "attn_logit_softcapping": null,
                  "final_logit_softcapping": null, "sliding_window": null)"},
        std::pair{"mamba_wide", R"("model_type": "mamba", "use_conv_bias": false, "use_bias": true,
                  "state_size": 5, "time_step_rank": 3, "conv_kernel": 2)"},
        std::pair{"mamba2_limits", R"("model_type": "mamba2", "num_heads": 4, "head_dim": 8,
                  "n_groups": 4, "state_size": 5, "time_step_limit": [0.6, 0.8],
                  "use_conv_bias": false, "use_bias": true)"},
        std::pair{"jamba_dense", R"("model_type": "jamba", "num_experts": 1,
                  "intermediate_size": 24, "num_key_value_heads": 2, "mamba_d_state": 3,
                  "attn_layer_period": 2, "attn_layer_offset": 1, "sliding_window": 5)"},
        std::pair{"granite_hybrid", R"("model_type": "granitemoehybrid", "num_local_experts": 0,
                  "shared_intermediate_size": 24, "mamba_n_heads": 4, "mamba_d_state": 5,
                  "layer_types": ["mamba", "attention"])"},
        std::pair{"falcon_h1_gate_first", R"("model_type": "falcon_h1", "intermediate_size": 24,
                  "num_key_value_heads": 2, "mamba_d_ssm": 24, "mamba_n_heads": 4,
                  "mamba_n_groups": 2, "mamba_d_state": 5, "mamba_rms_norm": true,
                  "mamba_norm_before_gate": false, "projectors_bias": true)"},
        std::pair{"falcon_h1_norm_first", R"("model_type": "falcon_h1", "intermediate_size": 24,
                  "num_key_value_heads": 2, "mamba_d_ssm": 24, "mamba_n_heads": 4,
                  "mamba_n_groups": 2, "mamba_d_state": 5, "mamba_rms_norm": true,
                  "mamba_proj_bias": true, "mamba_conv_bias": false)"},
        std::pair{"zamba2_plain", R"("model_type": "zamba2", "intermediate_size": 24,
                  "layers_block_type": ["hybrid", "hybrid"], "n_mamba_heads": 4,
                  "mamba_d_state": 5, "adapter_rank": 2, "add_bias_linear": true)"},
        std::pair{"griffin_window", R"("model_type": "recurrent_gemma", "intermediate_size": 24,
                  "block_types": ["recurrent", "attention"], "num_key_value_heads": 1,
                  "lru_width": 24, "attention_window_size": 5, "conv1d_width": 3)"},
        std::pair{"minimax_default", R"("model_type": "minimax", "intermediate_size": 24,
                  "num_key_value_heads": 2, "num_local_experts": 3, "sliding_window": 6)"},
        std::pair{"qwen3_next_dense", R"("model_type": "qwen3_next", "intermediate_size": 24,
                  "num_key_value_heads": 2, "head_dim": 8, "full_attention_interval": 2,
                  "linear_num_key_heads": 2, "linear_key_head_dim": 4,
                  "linear_num_value_heads": 4, "linear_value_head_dim": 6,
                  "mlp_only_layers": [0, 1], "num_experts": 2, "num_experts_per_tok": 1,
                  "moe_intermediate_size": 4)"},
        std::pair{"ernie_experts_with_biases", R"("model_type": "ernie4_5_moe", "use_bias": true,
                  "intermediate_size": 24, "num_key_value_heads": 2, "moe_num_experts": 4,
                  "moe_k": 2, "moe_intermediate_size": 8, "moe_num_shared_experts": 1)"},
        std::pair{"stablelm_norms", R"("model_type": "stablelm", "intermediate_size": 24,
                  "partial_rotary_factor": 1.0, "num_key_value_heads": 1,
                  "qk_layernorm": true, "use_qkv_bias": true)"}),
    [](const auto& test) { return std::string(test.param.first); });

// Settings that change the result and are not implemented are rejected by name.
TEST(Refused, SettingsThatPippinDoesNotKnow) {
  const BrokenConfig cases[] = {
      {"mpt", "attn_config", R"({"alibi": false})", "attn_config.alibi: false is not supported"},
      {"mpt", "attn_config", R"({"qk_ln": true})", "attn_config.qk_ln: true is not supported"},
      {"mpt", "logit_scale", "\"inv_sqrt_d_model\"", "logit_scale: "},
      {"gemma3", "use_bidirectional_attention", "true", "use_bidirectional_attention: true"},
      {"gpt2", "add_cross_attention", "true", "add_cross_attention: true"},
      {"gpt2", "rope_scaling", R"({"type": "linear", "factor": 2})", "rope_scaling: {"},
      {"opt", "activation_function", "\"mish\"", "activation_function: 'mish'"},
      {"openelm", "normalization_layer_name", "\"layer_norm\"", "normalization_layer_name: "},
      {"llama_mha", "partial_rotary_factor", "0.5", "partial_rotary_factor: 0.5"},
      {"llama_mha", "clip_qkv", "8", "clip_qkv: 8"},
      {"llama_mha", "model_type", "\"retnet\"", "model_type 'retnet' is not supported"},
      {"mistral_sw", "quantization_config", R"({"quant_method": "hqq"})",
       "quantization_config.quant_method: 'hqq' is not supported"},
      {"mistral_sw", "attn_logit_softcapping", "50.0", "attn_logit_softcapping: 50"},
      {"qwen2", "layer_types", R"(["full_attention", "chunked_attention", "full_attention"])",
       "layer_types: 'chunked_attention' is not supported"},
      {"granite", "num_local_experts", "8", "num_local_experts: 8"},
      {"phi3_sw", "rope_scaling", R"({"type": "spiral"})", "'spiral' is not supported"},
  };
  const int refused = expect_refused(
      "architectures/", cases, [](const auto& path) { models::build(path); },
      ErrorCode::Unsupported);
  if (refused == 0) GTEST_SKIP() << shared_data_absent("architectures");
}

// The same model from PyTorch's files alone and from MLX's files alone.
TEST(WeightFormats, BinAndNpzFoldersRun) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/llama_bin_npz");
  const Golden golden(folder);
  for (const char* name : {"pytorch_model.bin", "weights.npz"}) {
    SCOPED_TRACE(name);
    const TempDir dir;
    for (const char* file : {name, "config.json"}) {
      std::filesystem::copy_file(folder / file, dir / file);
    }
    const mil::Model model =
        models::build(dir.path(), {.compute = BuildOptions::Compute::Float32Direct});
    ThreadPool pool(1);
    const auto runner = runtime::make_stateful_model(model, pool)->new_sequence();
    expect_golden(*runner, golden, kFloat32Tolerance);
  }
}

constexpr const char* kFirst = "architectures";
constexpr const char* kSecond = "architectures2";
constexpr engine::Precision kFast = engine::Precision::Fast, kExact = engine::Precision::Exact;

INSTANTIATE_TEST_SUITE_P(
    Models, Architecture,
    testing::Values(
        Case{"bloom", 15}, Case{"cohere", 27}, Case{"cohere2", 34}, Case{"cohere_qknorm", 19},
        Case{"deepseek_v2_group", 46}, Case{"deepseek_v2_lite", 20},
        Case{"deepseek_v3", 28, kNone, kFirst, kFast, 10}, Case{"deepseek_v3_yarn", 31},
        Case{"ernie4_5", 36}, Case{"exaone", 41}, Case{"exaone4", 33}, Case{"falcon7", 13},
        Case{"falcon_11b", 12}, Case{"falcon_new", 16}, Case{"falcon_rw_alibi", 19},
        Case{"gemma", 53}, Case{"gemma2", 34}, Case{"gemma2_real_caps", 82}, Case{"gemma3", 43},
        Case{"gemma3_default_pattern", 70}, Case{"gemma3_ropescale", 60, 12},
        Case{"gemma_hubact", 44}, Case{"gemma_tanh_bf16", 19}, Case{"glm", 18}, Case{"glm4", 59},
        Case{"gpt2", 17}, Case{"gpt2_hubstyle", 18}, Case{"gpt_oss", 68}, Case{"olmoe", 24},
        Case{"qwen2_moe", 40, kNone, kFirst, kFast, 16}, Case{"qwen3_moe", 55},
        Case{"gpt_bigcode", 17}, Case{"gpt_neox", 19}, Case{"gpt_neox_serial", 19},
        Case{"gptj", 15}, Case{"granite", 37}, Case{"hunyuan_v1_dense", 26}, Case{"internlm2", 54},
        Case{"lfm2", 24}, Case{"llama_bias_linear", 26}, Case{"llama_bin_npz", 37},
        Case{"llama_dynamic", 36}, Case{"llama_f16", 10}, Case{"llama_gqa_llama3_tied", 45},
        Case{"llama_headdim", 34}, Case{"llama_mha", 61}, Case{"llama_sharded_bf16", 27},
        Case{"llama_yarn", 52}, Case{"minicpm", 8}, Case{"mistral_nosw_headdim", 35},
        Case{"mistral_sw", 40}, Case{"mixtral", 49}, Case{"mpt", 34}, Case{"nemotron", 50},
        Case{"olmo", 14}, Case{"olmo2", 45}, Case{"olmo3", 34}, Case{"openelm", 68},
        Case{"opt", 20}, Case{"phi", 8}, Case{"phi3_longrope_cross", 65},
        Case{"phi3_longrope_long", 69}, Case{"phi3_longrope_short", 80}, Case{"phi3_mini4", 37},
        Case{"phi3_sw", 45}, Case{"phi_gqa_qkln", 8}, Case{"qwen2", 45}, Case{"qwen2_sw", 59},
        Case{"qwen2_tied_layertypes", 26}, Case{"qwen3", 33}, Case{"qwen3_bias_sw", 19},
        Case{"smollm3", 108}, Case{"smollm3_list", 36}, Case{"stablelm", 17},
        Case{"stablelm_parallel", 17}, Case{"starcoder2", 27}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    MoreModels, Architecture,
    testing::Values(
        Case{"apertus", 7, kNone, kSecond}, Case{"arcee", 28, kNone, kSecond},
        Case{"bitnet", 80, kNone, kSecond},
        Case{"bitnet_packed", 11, kNone, kSecond, engine::Precision::Exact},
        Case{"dbrx", 18, kNone, kSecond, kFast, 46},
        Case{"deepseek_v3_noqlora", 19, kNone, kSecond, kFast, 10, true},
        Case{"deepseek_v3_yarn_group", 61, kNone, kSecond}, Case{"kimi_k2", 108, kNone, kSecond},
        Case{"longcat_flash", 61, kNone, kSecond}, Case{"dots1", 15, kNone, kSecond, kFast, 7},
        Case{"ernie4_5_moe", 58, kNone, kSecond}, Case{"flex_olmo", 37, kNone, kSecond},
        Case{"glm4_moe", 22, kNone, kSecond},
        Case{"deepseek_v3_fp8", 60, kNone, kSecond, kExact, 19, true},
        Case{"llama_awq", 60, kNone, kSecond, kExact},
        Case{"llama_bnb_nf4", 60, kNone, kSecond, kExact},
        Case{"llama_ct_fp8", 60, kNone, kSecond, kExact},
        Case{"llama_ct_int4", 60, kNone, kSecond, kExact},
        Case{"llama_gptq", 60, kNone, kSecond, kExact},
        Case{"llama_gptq_desc_act", 60, kNone, kSecond, kExact},
        Case{"llama_mlx_q4", 60, kNone, kSecond, kExact},
        Case{"llama_mlx_q8", 60, kNone, kSecond, kExact},
        Case{"gpt_oss_mxfp4", 19, kNone, kSecond, engine::Precision::Exact},
        Case{"gemma3n_text", 500, kNone, kSecond}, Case{"granitemoe", 5, kNone, kSecond},
        Case{"granitemoeshared", 7, kNone, kSecond}, Case{"helium", 25, kNone, kSecond},
        Case{"hunyuan_v1_moe", 16, kNone, kSecond}, Case{"lfm2_moe", 47, kNone, kSecond},
        Case{"llama4_text", 16, kNone, kSecond}, Case{"ministral", 41, kNone, kSecond},
        Case{"mistral3_vlm", 47, kNone, kSecond},
        Case{"mixtral_sw5", 50, kNone, kSecond, kFast, 25},
        Case{"olmoe_clip", 30, kNone, kSecond, kFast, 5},
        Case{"phimoe", 32, kNone, kSecond, kFast, 36}, Case{"qwen3_moe_nonorm", 13, kNone, kSecond},
        Case{"seed_oss", 19, kNone, kSecond}, Case{"vaultgemma", 28, kNone, kSecond}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    StateSpaces, Architecture,
    testing::Values(
        Case{"bamba", 22, kNone, kSecond}, Case{"falcon_h1", 8, kNone, kSecond},
        Case{"falcon_mamba", 84, kNone, kSecond}, Case{"granitemoehybrid", 9, kNone, kSecond},
        Case{"granitemoehybrid_dense", 10, kNone, kSecond}, Case{"jamba", 43, kNone, kSecond},
        Case{"mamba", 26, kNone, kSecond}, Case{"mamba2", 16, kNone, kSecond},
        Case{"minimax", 15, kNone, kSecond}, Case{"qwen3_next", 50, kNone, kSecond, kFast, 4},
        Case{"recurrent_gemma", 24, kNone, kSecond}, Case{"zamba2", 171, kNone, kSecond}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pippin
