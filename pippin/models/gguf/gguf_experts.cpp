// Mixtures of experts with attention in every layer.
#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

constexpr GgufField kExpertWidth = {"moe_intermediate_size", "rows:ffn_up_exps"};
constexpr GgufField kNormalized = {"norm_topk_prob", "expert_weights_norm"};
constexpr GgufField kScale = {"routed_scaling_factor", "expert_weights_scale"};
constexpr GgufField kDense = {"first_k_dense_replace", "leading:ffn_gate_inp"};

void write_null_window(GgufConfig& config) {
  if (config.keys().size("attention.sliding_window").value_or(0) == 0) {
    config.set_json("sliding_window", "null");
  }
}

// Phi's own factor for angles, the same for short and long texts.
void write_phimoe(GgufConfig& config) {
  write_null_window(config);
  const GgufKeys& keys = config.keys();
  if (!keys.has("rope_factors_long.weight")) return;
  const double factor = keys.number("rope.scaling.attn_factor").value_or(1.0);
  JsonWriter json;
  json.begin_object().member("rope_type", "longrope");
  json.member("short_factor", keys.metadata().tensor_numbers("rope_factors_short.weight"));
  json.member("long_factor", keys.metadata().tensor_numbers("rope_factors_long.weight"));
  json.member("original_max_position_embeddings",
              keys.required_size("rope.scaling.original_context_length"));
  json.member("short_mscale", factor).member("long_mscale", factor);
  config.set_json("rope_scaling", json.end_object().text());
}

// llama.cpp has constants for chunks, positions and temperatures.
void write_llama4(GgufConfig& config) {
  config.set("intermediate_size_mlp", config.keys().required_size("feed_forward_length"));
  config.set_from("intermediate_size", "rows:ffn_up_exps");
}

// DBRX has objects for attention and feed-forwards.
void write_dbrx(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  JsonWriter attention;
  attention.begin_object();
  attention.member("kv_n_heads", keys.required_size("attention.head_count_kv"));
  attention.member("rope_theta", keys.number("rope.freq_base").value_or(10000));
  if (const auto clip = keys.number("attention.clamp_kqv"); clip.value_or(0) > 0) {
    attention.member("clip_qkv", *clip);
  }
  config.set_json("attn_config", attention.end_object().text());
  JsonWriter feed;
  feed.begin_object().member("moe_num_experts", keys.required_size("expert_count"));
  feed.member("moe_top_k", keys.required_size("expert_used_count"));
  feed.member("ffn_hidden_size", keys.required_size("feed_forward_length"));
  feed.member("moe_normalize_expert_weights", 1);
  config.set_json("ffn_config", feed.end_object().text());
  config.erase("partial_rotary_factor");
}

// Whole heads are rotated, although files have 0, the size in latent attention.
void write_deepseek_ocr2_text(GgufConfig& config) {
  constexpr std::string_view kNorm = "expert_weights_norm";
  const GgufKeys& keys = config.keys();
  if (keys.metadata().flag(keys.full(kNorm)).value_or(false)) {
    keys.unsupported(kNorm, "normalized weights of experts are not supported for it");
  }
  config.set("partial_rotary_factor", 1.0);
}

// The epsilon that is present determines the kind of norm. Gating functions are numbers in the
// format.
void write_cohere2_moe(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  constexpr int64_t kSigmoid = 2;
  if (!keys.has_key("attention.layer_norm_rms_epsilon")) config.erase("rms_norm_eps");
  config.set("expert_selection_fn",
             keys.size("expert_gating_func").value_or(1) == kSigmoid ? "sigmoid" : "softmax");
  config.set_from("prefix_dense_intermediate_size", "feed_forward_length");
}

}  // namespace

std::vector<GgufArchitecture> gguf_expert_architectures() {
  const std::vector<GgufField> granite = {
      {"embedding_multiplier", "embedding_scale"},
      {"residual_multiplier", "residual_scale"},
      {"logits_scaling", "logit_scale"},
      {"attention_multiplier", "attention.scale"},
      {"num_local_experts", "expert_count"},
      {"intermediate_size", "rows:ffn_up_exps"},
      {"shared_intermediate_size", "expert_shared_feed_forward_length"},
      kGgufAttentionBias};
  const std::vector<GgufField> grouped = {{"n_routed_experts", "expert_count"},
                                          {"n_shared_experts", "expert_shared_count"},
                                          {"n_group", "expert_group_count"},
                                          {"topk_group", "expert_group_used_count"},
                                          kExpertWidth,
                                          kNormalized,
                                          kScale,
                                          kDense,
                                          kGgufAttentionBias};
  std::vector<GgufField> glm = grouped;
  glm.push_back({"use_qk_norm", "has:attn_q_norm"});
  return {
      {.name = "qwen2moe",
       .model_type = "qwen2_moe",
       .class_name = "Qwen2MoeForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"shared_expert_intermediate_size", "rows:ffn_up_shexp"},
                  {"qkv_bias", "has:attn_q.bias"},
                  kExpertWidth},
       .members = R"({"norm_topk_prob": false})"},
      {.name = "qwen3moe",
       .model_type = "qwen3_moe",
       .class_name = "Qwen3MoeForCausalLM",
       .fields = {{"num_experts", "expert_count"}, kExpertWidth, kGgufAttentionBias},
       .members = R"({"norm_topk_prob": true})"},
      {.name = "qwen3vlmoe",
       .model_type = "qwen3_moe",
       .class_name = "Qwen3MoeForCausalLM",
       .fields = {{"num_experts", "expert_count"}, kExpertWidth, kGgufAttentionBias},
       .members = R"({"norm_topk_prob": true})"},
      {.name = "olmoe",
       .model_type = "olmoe",
       .class_name = "OlmoeForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"clip_qkv", "attention.clamp_kqv"},
                  {"intermediate_size", "rows:ffn_up_exps"},
                  kGgufAttentionBias},
       .members = R"({"norm_topk_prob": false})"},
      {.name = "phimoe",
       .model_type = "phimoe",
       .class_name = "PhimoeForCausalLM",
       .fields = {{"num_local_experts", "expert_count"},
                  {"intermediate_size", "rows:ffn_up_exps"},
                  {"lm_head_bias", "has:output.bias"},
                  kGgufAttentionBias},
       .write = write_phimoe},
      {.name = "granitemoe",
       .model_type = "granitemoeshared",
       .class_name = "GraniteMoeSharedForCausalLM",
       .fields = granite,
       .when = "has:ffn_up_shexp",
       .pairs = true},
      {.name = "granitemoe",
       .model_type = "granitemoe",
       .class_name = "GraniteMoeForCausalLM",
       .fields = granite,
       .pairs = true},
      {.name = "gpt-oss",
       .model_type = "gpt_oss",
       .class_name = "GptOssForCausalLM",
       .fields = {{"num_local_experts", "expert_count"},
                  {"intermediate_size", "rows:ffn_up_exps"},
                  kGgufAttentionBias}},
      {.name = "dots1",
       .model_type = "dots1",
       .class_name = "Dots1ForCausalLM",
       .fields = grouped,
       .write = write_null_window},
      {.name = "deepseek2-ocr",
       .model_type = "deepseek_ocr2_text",
       .class_name = "DeepseekOcr2TextForCausalLM",
       .fields = {{"n_routed_experts", "expert_count"},
                  {"n_shared_experts", "expert_shared_count"},
                  kExpertWidth,
                  kScale,
                  kDense},
       .write = write_deepseek_ocr2_text},
      {.name = "glm4moe",
       .model_type = "glm4_moe",
       .class_name = "Glm4MoeForCausalLM",
       .fields = glm},
      {.name = "ernie4_5-moe",
       .model_type = "ernie4_5_moe",
       .class_name = "Ernie4_5_MoeForCausalLM",
       .fields = {{"moe_num_experts", "expert_count"},
                  {"moe_k", "expert_used_count"},
                  {"moe_num_shared_experts", "expert_shared_count"},
                  {"moe_layer_start_index", "leading:ffn_gate_inp"},
                  {"moe_layer_interval", "interleave_moe_layer_step"},
                  {"use_bias", "has:attn_q.bias"},
                  kExpertWidth}},
      {.name = "llama4",
       .model_type = "llama4_text",
       .class_name = "Llama4ForCausalLM",
       .fields = {{"num_local_experts", "expert_count"},
                  {"interleave_moe_layer_step", "interleave_moe_layer_step"},
                  kGgufAttentionBias},
       .write = write_llama4},
      {.name = "minimax-m2",
       .model_type = "minimax_m2",
       .class_name = "MiniMaxM2ForCausalLM",
       .fields = {{"num_local_experts", "expert_count"},
                  {"intermediate_size", "rows:ffn_up_exps"},
                  {"rotary_dim", "rope.dimension_count"}}},
      {.name = "afmoe",
       .model_type = "afmoe",
       .class_name = "AfmoeForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"num_shared_experts", "expert_shared_count"},
                  {"route_norm", "expert_weights_norm"},
                  {"route_scale", "expert_weights_scale"},
                  {"num_dense_layers", "leading:ffn_gate_inp"},
                  kExpertWidth,
                  kGgufAttentionBias},
       .members = R"({"mup_enabled": true})"},
      {.name = "exaone-moe",
       .model_type = "exaone_moe",
       .class_name = "ExaoneMoeForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"num_shared_experts", "expert_shared_count"},
                  {"n_group", "expert_group_count"},
                  {"topk_group", "expert_group_used_count"},
                  kExpertWidth,
                  kNormalized,
                  kScale,
                  kDense},
       .write = write_null_window},
      {.name = "hy_v3",
       .model_type = "hy_v3",
       .class_name = "HYV3ForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"router_scaling_factor", "expert_weights_scale"},
                  kExpertWidth,
                  kDense,
                  kGgufAttentionBias},
       .members = R"({"num_shared_experts": 1})"},
      {.name = "hunyuan-moe",
       .model_type = "hunyuan_v1_moe",
       .class_name = "HunYuanMoEV1ForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"moe_topk", "expert_used_count"},
                  {"intermediate_size", "rows:ffn_up_shexp"},
                  kExpertWidth,
                  kGgufAttentionBias}},
      {.name = "dbrx", .model_type = "dbrx", .class_name = "DbrxForCausalLM", .write = write_dbrx},
      {.name = "cohere2moe",
       .model_type = "cohere2_moe",
       .class_name = "Cohere2MoeForCausalLM",
       .fields = {{"num_experts", "expert_count"},
                  {"num_shared_experts", "expert_shared_count"},
                  {"intermediate_size", "rows:ffn_up_exps"},
                  {"logit_scale", "logit_scale"},
                  kNormalized,
                  kDense,
                  kGgufAttentionBias},
       .write = write_cohere2_moe},
      {.name = "granite_swa",
       .model_type = "granitemoe_swa",
       .class_name = "GraniteMoeSWAForCausalLM",
       .fields = granite,
       .when = "expert_count",
       .pairs = true},
      {.name = "granite_swa",
       .model_type = "granite_swa",
       .class_name = "GraniteSWAForCausalLM",
       .fields = {granite[0], granite[1], granite[2], granite[3], kGgufAttentionBias},
       .pairs = true},
  };
}

}  // namespace pippin::models
