// Every dense architecture against Hugging Face's own logits and greedy continuations: tiny random
// checkpoints, from the folder in fp32 and from the converted package in fp16.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/thread_pool.h"
#include "pippin/generate/stateful_model.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/mil/verify.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"

namespace pippin {
namespace {

using generate::LanguageModel;
using models::BuildOptions;

struct Golden {
  std::vector<int32_t> prompt, generated;
  std::vector<double> logits, gen_logits;
  size_t vocabulary;

  // Where frequencies depend on the length, a cached key keeps those of its own time: Hugging
  // Face's forward with its cache is what to compare with, not its forward without.
  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const std::string cached = npz.contains("gen_ids_hfcache") ? "_hfcache" : "";
    const auto ids = [&](const std::string& name) {
      const NpyArray array = npz.read(name);
      return std::vector<int32_t>(array.as<int32_t>().begin(), array.as<int32_t>().end());
    };
    prompt = ids("input_ids");
    generated = ids("gen_ids" + cached);
    logits = npz.read("logits").to_doubles();
    gen_logits = npz.read("gen_logits" + cached).to_doubles();
    vocabulary = logits.size() / prompt.size();
  }

  std::span<const double> gen_row(size_t i) const {
    return std::span(gen_logits).subspan(i * vocabulary, vocabulary);
  }
};

double max_difference(std::span<const float> a, std::span<const double> b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = difference <= worst ? worst : difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  }
  return worst;
}

void expect_greedy(LanguageModel& model, const Golden& golden, double tolerance) {
  model.reset();
  std::span<const float> logits = model.prefill(golden.prompt);
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    ASSERT_LE(max_difference(logits, golden.gen_row(i)), tolerance) << "token " << i;
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ASSERT_EQ(best, golden.generated[i]) << "token " << i;
    if (i + 1 < golden.generated.size()) logits = model.decode(golden.generated[i]);
  }
}

class Architecture : public testing::TestWithParam<std::string> {
 protected:
  // With soft caps of trained size its attention is very sharp.
  double tolerance() const { return GetParam() == "gemma2_real_caps" ? 5e-4 : 1e-4; }
};

TEST_P(Architecture, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/" + GetParam());
  const Golden golden(folder);
  const mil::Model model =
      models::build(folder, {.context = 128, .compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  ThreadPool pool(1);
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    const auto runner = generate::make_stateful_model(model, pool, {.prefill_chunk = chunk});
    const auto logits = runner->all_logits(golden.prompt);
    EXPECT_LE(max_difference(logits, golden.logits), tolerance());
    expect_greedy(*runner, golden, tolerance());
  }
}

TEST_P(Architecture, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/" + GetParam());
  const Golden golden(folder);
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder, {.context = 128}), path);
  const mil::Model model = mil::read_package(path);
  ThreadPool pool(1);
  const auto runner = generate::make_stateful_model(model, pool);
  double largest = 0;
  for (const double logit : golden.logits) largest = std::max(largest, std::abs(logit));
  EXPECT_LE(max_difference(runner->all_logits(golden.prompt), golden.logits), 2e-2 * largest);
}

// Settings that no golden checkpoint has. There is no oracle for them here but the model itself: a
// prompt at once, in chunks and token by token has to give the same logits.
class Variant : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Variant, ChunksAgree) {
  const std::string sizes =
      R"("vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,)";
  const TempDir dir;
  models::write_random_model(dir.path(), "{" + sizes + GetParam().second + "}");
  const mil::Model model =
      models::build(dir.path(), {.compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 24; ++i) prompt.push_back(i * 7 % 40);
  const auto logits_in = [&](int64_t chunk) {
    return generate::make_stateful_model(model, pool, {.prefill_chunk = chunk})->all_logits(prompt);
  };
  const std::vector<float> at_once = logits_in(256);
  const std::vector<double> whole(at_once.begin(), at_once.end());
  for (const int64_t chunk : {5, 1}) {
    const std::vector<float> parts = logits_in(chunk);
    EXPECT_LE(max_difference(parts, whole), 1e-5) << chunk;
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
        std::pair{"stablelm_norms", R"("model_type": "stablelm", "intermediate_size": 24,
                  "partial_rotary_factor": 1.0, "num_key_value_heads": 1,
                  "qk_layernorm": true, "use_qkv_bias": true)"}),
    [](const auto& test) { return std::string(test.param.first); });

// What changes the result and is not implemented is refused by its name.
TEST(Refused, SettingsThatPippinDoesNotKnow) {
  const struct {
    std::string folder, key, value, message;
  } cases[] = {
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
      {"llama_mha", "model_type", "\"mamba\"", "model_type 'mamba' is not supported"},
      {"mistral_sw", "quantization_config", R"({"bits": 4})", "quantization_config: {"},
      {"mistral_sw", "attn_logit_softcapping", "50.0", "attn_logit_softcapping: 50"},
      {"qwen2", "layer_types", R"(["full_attention", "chunked_attention", "full_attention"])",
       "layer_types: 'chunked_attention' is not supported"},
      {"granite", "num_local_experts", "8", "num_local_experts: 8"},
      {"phi3_sw", "rope_scaling", R"({"type": "spiral"})", "'spiral' is not supported"},
  };
  PIPPIN_SHARED_OR_SKIP(root, "architectures");
  for (const auto& one : cases) {
    SCOPED_TRACE(one.folder + ": " + one.key + " = " + one.value);
    const TempDir dir;
    std::filesystem::create_symlink(root / one.folder / "model.safetensors",
                                    dir / "model.safetensors");
    std::string text = "{";
    for (const auto& [key, value] : Json::load(root / one.folder / "config.json").members()) {
      if (key != one.key) text += "\"" + std::string(key) + "\": " + value.dump() + ", ";
    }
    write_file(dir / "config.json", text + "\"" + one.key + "\": " + one.value + "}");
    try {
      models::build(dir.path());
      ADD_FAILURE() << "was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_NE(std::string(error.what()).find(one.message), std::string::npos) << error.what();
    }
  }
}

// The same model from PyTorch's and from MLX's files alone.
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
    const auto runner = generate::make_stateful_model(model, pool);
    expect_greedy(*runner, golden, 1e-4);
  }
}

// Most mixtures of experts of that folder are not known yet.
INSTANTIATE_TEST_SUITE_P(
    Models, Architecture,
    testing::Values(
        "bloom", "cohere", "cohere2", "cohere_qknorm", "ernie4_5", "exaone", "exaone4", "falcon7",
        "falcon_11b", "falcon_new", "falcon_rw_alibi", "gemma", "gemma2", "gemma2_real_caps",
        "gemma3", "gemma3_default_pattern", "gemma3_ropescale", "gemma_hubact", "gemma_tanh_bf16",
        "glm", "glm4", "gpt2", "gpt2_hubstyle", "gpt_bigcode", "gpt_neox", "gpt_neox_serial",
        "gptj", "granite", "hunyuan_v1_dense", "internlm2", "lfm2", "llama_bias_linear",
        "llama_bin_npz", "llama_dynamic", "llama_f16", "llama_gqa_llama3_tied", "llama_headdim",
        "llama_mha", "llama_sharded_bf16", "llama_yarn", "minicpm", "mistral_nosw_headdim",
        "mistral_sw", "mixtral", "mpt", "nemotron", "olmo", "olmo2", "olmo3", "openelm", "opt",
        "phi", "phi3_longrope_cross", "phi3_longrope_long", "phi3_longrope_short", "phi3_mini4",
        "phi3_sw", "phi_gqa_qkln", "qwen2", "qwen2_sw", "qwen2_tied_layertypes", "qwen3",
        "qwen3_bias_sw", "smollm3", "smollm3_list", "stablelm", "stablelm_parallel", "starcoder2"),
    [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pippin
