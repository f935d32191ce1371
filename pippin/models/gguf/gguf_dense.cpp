// Llama and the dense models of its form.
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

constexpr GgufField kMlpBias = {"mlp_bias", "has:ffn_up.bias"};
constexpr GgufField kWidth = {"intermediate_size", "rows:ffn_up"};

void write_window_alone(GgufConfig& config) {
  // If it were absent, the class would use its default window.
  if (config.keys().size("attention.sliding_window").value_or(0) == 0) {
    config.set_json("sliding_window", "null");
  }
}

void write_ministral(GgufConfig& config) {
  write_window_alone(config);
  config.write_plain_rope();
}

// llama.cpp's factors, as members of MiniCPM's configuration.
void write_minicpm(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const auto hidden = static_cast<double>(keys.required_size("embedding_length"));
  const auto layers = static_cast<double>(config.layers());
  config.set("scale_emb", keys.number("embedding_scale").value_or(12));
  config.set("scale_depth",
             keys.number("residual_scale").value_or(1.4 / std::sqrt(layers)) * std::sqrt(layers));
  const double logits = keys.number("logit_scale").value_or(hidden / 256);
  config.set("dim_model_base", static_cast<int64_t>(std::lround(hidden / logits)));
}

// Three of four layers have windows, if any do; only those have positions.
void write_exaone4(GgufConfig& config) {
  if (config.keys().size("attention.sliding_window").value_or(0) == 0) {
    config.set_json("sliding_window", "null");
  }
}

// The parameters of xIELU are metadata.
void write_apertus(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const GgufMetadata& metadata = keys.metadata();
  std::vector<std::vector<double>> parts;
  for (const char* name : {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"}) {
    const std::string key = name;  // the architecture's name is not before it
    if (metadata.find(key) == nullptr) metadata.invalid(key, "missing");
    parts.push_back(metadata.numbers(key));
    if (std::ssize(parts.back()) != config.layers()) {
      metadata.invalid(
          key, fmt::format("{} numbers for {} layers", parts.back().size(), config.layers()));
    }
  }
  std::vector<double> all;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    for (const std::vector<double>& part : parts) all.push_back(part[i]);
  }
  config.set(kGgufXielu, all);
}

// Heads and widths of each layer.
void write_openelm(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const auto hidden = static_cast<double>(keys.required_size("embedding_length"));
  std::vector<double> widths;
  for (const int64_t width : config.by_layer("feed_forward_length")) {
    widths.push_back(static_cast<double>(width) / hidden);
  }
  config.set("ffn_multipliers", widths);
  config.set("ffn_dim_divisor", 1);
  config.set("num_query_heads", config.by_layer("attention.head_count"));
  config.set("num_kv_heads", config.by_layer("attention.head_count_kv"));
  config.set("ffn_with_glu", config.has_in_blocks("ffn_gate"));
  config.set("normalize_qk_projections", config.has_in_blocks("attn_q_norm"));
  for (const char* whole : {"num_attention_heads", "num_key_value_heads", "intermediate_size"}) {
    config.erase(whole);
  }
}

// Every fourth layer has no positions.
void write_smollm3(GgufConfig& config) {
  config.set("no_rope_layer_interval", 4);
  config.erase("sliding_window");
}

}  // namespace

std::vector<GgufArchitecture> gguf_dense_architectures() {
  const std::vector<GgufField> granite = {{"embedding_multiplier", "embedding_scale"},
                                          {"residual_multiplier", "residual_scale"},
                                          {"logits_scaling", "logit_scale"},
                                          {"attention_multiplier", "attention.scale"},
                                          kGgufAttentionBias,
                                          kMlpBias,
                                          kWidth};
  return {
      {.name = "llama",
       .model_type = "mixtral",
       .class_name = "MixtralForCausalLM",
       .fields = {{"num_local_experts", "expert_count"}},
       .members = R"({"sliding_window": null})",
       .when = "expert_count",
       .pairs = true},
      {.name = "llama",
       .model_type = "llama",
       .class_name = "LlamaForCausalLM",
       .fields = {kGgufAttentionBias, kMlpBias},
       .pairs = true},
      {.name = "mistral3",
       .model_type = "ministral3",
       .class_name = "Ministral3ForCausalLM",
       .write = write_ministral,
       .pairs = true},
      {.name = "qwen2", .model_type = "qwen2", .class_name = "Qwen2ForCausalLM"},
      {.name = "qwen2vl", .model_type = "qwen2", .class_name = "Qwen2ForCausalLM"},
      {.name = "qwen3",
       .model_type = "qwen3",
       .class_name = "Qwen3ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "qwen3vl",
       .model_type = "qwen3",
       .class_name = "Qwen3ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "phi3",
       .model_type = "phi3",
       .class_name = "Phi3ForCausalLM",
       .write = write_window_alone},
      {.name = "granite",
       .model_type = "granite",
       .class_name = "GraniteForCausalLM",
       .fields = granite,
       .pairs = true},
      {.name = "smollm3",
       .model_type = "smollm3",
       .class_name = "SmolLM3ForCausalLM",
       .fields = {kGgufAttentionBias, kMlpBias},
       .write = write_smollm3,
       .pairs = true},
      {.name = "olmo",
       .model_type = "olmo",
       .class_name = "OlmoForCausalLM",
       .fields = {{"clip_qkv", "attention.clamp_kqv"}, kGgufAttentionBias},
       .pairs = true},
      {.name = "olmo2",
       .model_type = "olmo3",
       .class_name = "Olmo3ForCausalLM",
       .fields = {kGgufAttentionBias},
       .when = "attention.sliding_window"},
      {.name = "olmo2",
       .model_type = "olmo2",
       .class_name = "Olmo2ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "glm4",
       .model_type = "glm4",
       .class_name = "Glm4ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "chatglm",
       .model_type = "glm",
       .class_name = "GlmForCausalLM",
       .fields = {{"attention_bias", "has:attn_qkv.bias"}, kGgufAttentionBias}},
      {.name = "command-r",
       .model_type = "cohere",
       .class_name = "CohereForCausalLM",
       .fields = {{"logit_scale", "logit_scale"},
                  {"use_qk_norm", "has:attn_q_norm"},
                  kGgufAttentionBias}},
      {.name = "cohere2",
       .model_type = "cohere2",
       .class_name = "Cohere2ForCausalLM",
       .fields = {{"logit_scale", "logit_scale"}, kGgufAttentionBias}},
      {.name = "exaone",
       .model_type = "exaone",
       .class_name = "ExaoneForCausalLM",
       .fields = {kGgufAttentionBias, kMlpBias}},
      {.name = "exaone4",
       .model_type = "exaone4",
       .class_name = "Exaone4ForCausalLM",
       .write = write_exaone4},
      {.name = "ernie4_5",
       .model_type = "ernie4_5",
       .class_name = "Ernie4_5ForCausalLM",
       .fields = {{"use_bias", "has:attn_q.bias"}}},
      {.name = "paddleocr",
       .model_type = "paddleocr_vl_text",
       .class_name = "PaddleOCRTextForCausalLM",
       .fields = {{"use_bias", "has:attn_q.bias"}}},
      {.name = "hunyuan-dense",
       .model_type = "hunyuan_v1_dense",
       .class_name = "HunYuanDenseV1ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "hunyuan_vl",
       .model_type = "hunyuan_v1_dense",
       .class_name = "HunYuanDenseV1ForCausalLM",
       .fields = {kGgufAttentionBias}},
      {.name = "seed_oss",
       .model_type = "seed_oss",
       .class_name = "SeedOssForCausalLM",
       .fields = {kGgufAttentionBias, {"attention_out_bias", "has:attn_output.bias"}, kMlpBias}},
      {.name = "minicpm",
       .model_type = "minicpm",
       .class_name = "MiniCPMForCausalLM",
       .fields = {kGgufAttentionBias},
       .write = write_minicpm,
       .pairs = true},
      {.name = "internlm2",
       .model_type = "internlm2",
       .class_name = "InternLM2ForCausalLM",
       .fields = {{"bias", "has:attn_q.bias"}},
       .pairs = true},
      {.name = "apertus",
       .model_type = "apertus",
       .class_name = "ApertusForCausalLM",
       .fields = {kGgufAttentionBias, kMlpBias},
       .write = write_apertus},
      {.name = "openelm",
       .model_type = "openelm",
       .class_name = "OpenELMForCausalLM",
       .write = write_openelm,
       .varies = true},
      {.name = "arcee",
       .model_type = "arcee",
       .class_name = "ArceeForCausalLM",
       .fields = {kGgufAttentionBias, kMlpBias},
       .pairs = true},
  };
}

}  // namespace pippin::models
