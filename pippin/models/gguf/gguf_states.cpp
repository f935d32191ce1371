// State spaces, convolutions and recurrences, some with attention layers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/gguf/gguf_architectures.h"

namespace pippin::models {
namespace {

constexpr std::string_view kKvHeads = "attention.head_count_kv";

// Layers with attention: those with key heads.
std::vector<int64_t> attends(const GgufConfig& config) {
  return config.by_layer(kKvHeads);
}

int64_t head_size(const GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  const int64_t inner = keys.required_size("ssm.inner_size");
  const int64_t heads = keys.required_size("ssm.time_step_rank");
  if (heads < 1 || inner % heads != 0) {
    keys.metadata().invalid(
        keys.full("ssm.inner_size"),
        fmt::format("{} is not a multiple of ssm.time_step_rank {}", inner, heads));
  }
  return inner / heads;
}

double expansion(const GgufConfig& config) {
  return static_cast<double>(config.keys().required_size("ssm.inner_size")) /
         static_cast<double>(config.keys().required_size("embedding_length"));
}

void write_mamba(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  config.set("expand", expansion(config));
  config.set("intermediate_size", keys.required_size("ssm.inner_size"));
  config.set("time_step_rank", keys.required_size("ssm.time_step_rank"));
}

void write_falcon_mamba(GgufConfig& config) {
  write_mamba(config);
  config.set("mixer_rms_eps", config.keys().required_number("attention.layer_norm_rms_epsilon"));
}

void write_mamba2(GgufConfig& config) {
  config.set("expand", expansion(config));
  config.set("num_heads", config.keys().required_size("ssm.time_step_rank"));
  config.set("head_dim", head_size(config));
}

// Members of hybrid models.
void write_hybrid_mamba(GgufConfig& config) {
  config.set("mamba_expand", expansion(config));
  config.set("mamba_n_heads", config.keys().required_size("ssm.time_step_rank"));
  config.set("mamba_d_head", head_size(config));
  config.set("mamba_d_ssm", config.keys().required_size("ssm.inner_size"));
}

void write_granite_hybrid(GgufConfig& config) {
  const GgufKeys& keys = config.keys();
  write_hybrid_mamba(config);
  config.set_kinds("layer_types", attends(config), "attention", "mamba");
  const bool turned = keys.metadata().flag(keys.full("rope.scaling.finetuned")).value_or(false);
  config.set("position_embedding_type", turned ? "rope" : "nope");
  const bool has_experts = config.has_in_blocks("ffn_gate_inp");
  config.set("num_local_experts", has_experts ? keys.required_size("expert_count") : 0);
  config.set_from("intermediate_size", has_experts ? "rows:ffn_up_exps" : "rows:ffn_up");
  config.set_from("shared_intermediate_size", has_experts ? "rows:ffn_up_shexp" : "rows:ffn_up");
  config.erase("partial_rotary_factor");
  if (keys.number("attention.scale").value_or(0) > 0) return;
  const auto heads = static_cast<double>(keys.required_size("attention.head_count"));
  const auto hidden = static_cast<double>(keys.required_size("embedding_length"));
  config.set("attention_multiplier",
             1 / std::sqrt(keys.number("attention.key_length").value_or(hidden / heads)));
}

// The weights already include the factors; a norm comes after the gate.
void write_falcon_h1(GgufConfig& config) {
  write_hybrid_mamba(config);
  config.set("mamba_rms_norm", config.has_in_blocks("ssm_norm"));
  config.set("mamba_norm_before_gate", false);
}

// Jamba's layers repeat: one of each period has attention, and one has experts.
void write_period(GgufConfig& config, const std::vector<int64_t>& has, const char* key,
                  const std::string& name) {
  const auto first = std::find_if(has.begin(), has.end(), [](int64_t n) { return n != 0; });
  const auto count = std::ssize(has);
  const auto offset = first - has.begin();
  const auto second = first == has.end()
                          ? first
                          : std::find_if(first + 1, has.end(), [](int64_t n) { return n != 0; });
  const auto period = second == has.end() ? std::max<int64_t>(count, 1) : second - first;
  for (int64_t i = 0; i < count; ++i) {
    const bool due = first != has.end() && i % period == offset % period && i >= offset;
    if (due != (has[static_cast<size_t>(i)] != 0) || offset >= period) {
      config.keys().unsupported(key, "only periodic layers are supported");
    }
  }
  config.set(name + "_period", first == has.end() ? count + 1 : period);
  config.set(name + "_offset", first == has.end() ? count : offset);
}

void write_jamba(GgufConfig& config) {
  config.set("mamba_expand", expansion(config));
  write_period(config, attends(config), "attention.head_count_kv", "attn_layer");
  write_period(config, config.layers_with("ffn_gate_inp"), "expert_count", "expert_layer");
}

void write_lfm2(GgufConfig& config) {
  config.set_kinds("layer_types", attends(config), "full_attention", "conv");
  config.set("block_auto_adjust_ff_dim", false);
}

void write_nemotron_h(GgufConfig& config) {
  const std::vector<int64_t> keys = attends(config);
  const std::vector<int64_t> states = config.layers_with("ssm_a");
  const std::vector<int64_t> experts = config.layers_with("ffn_gate_inp");
  std::vector<std::string> kinds;
  kinds.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const char* feed_forward = experts[i] != 0 ? "moe" : "mlp";
    kinds.emplace_back(keys[i] != 0     ? "full_attention"
                       : states[i] != 0 ? "linear_attention"
                                        : feed_forward);
  }
  config.set("layers_block_type", kinds);
  config.set("mamba_num_heads", config.keys().required_size("ssm.time_step_rank"));
  config.set("mamba_head_dim", head_size(config));
  if (!config.has_in_blocks("ffn_gate_inp")) config.set_from("intermediate_size", "rows:ffn_up");
}

// Qwen3-Next and its successors.
void write_gated_delta(GgufConfig& config) {
  config.set_kinds("layer_types", config.layers_with("ssm_a"), "linear_attention",
                   "full_attention");
  config.set("linear_value_head_dim", head_size(config));
}

}  // namespace

std::vector<GgufArchitecture> gguf_state_architectures() {
  const std::vector<GgufField> mamba = {{"state_size", "ssm.state_size"},
                                        {"conv_kernel", "ssm.conv_kernel"},
                                        {"n_groups", "ssm.group_count"},
                                        {"use_conv_bias", "has:ssm_conv1d.bias"},
                                        {"use_bias", "has:ssm_in.bias"}};
  const std::vector<GgufField> hybrid = {{"mamba_d_state", "ssm.state_size"},
                                         {"mamba_d_conv", "ssm.conv_kernel"},
                                         {"mamba_dt_rank", "ssm.time_step_rank"},
                                         {"mamba_n_groups", "ssm.group_count"},
                                         {"mamba_conv_bias", "has:ssm_conv1d.bias"},
                                         {"mamba_proj_bias", "has:ssm_in.bias"},
                                         {"num_experts", "expert_count"},
                                         {"attention_bias", "has:attn_q.bias"}};
  const std::vector<GgufField> granite = {
      {"mamba_d_state", "ssm.state_size"},         {"mamba_d_conv", "ssm.conv_kernel"},
      {"mamba_n_groups", "ssm.group_count"},       {"mamba_conv_bias", "has:ssm_conv1d.bias"},
      {"mamba_proj_bias", "has:ssm_in.bias"},      {"embedding_multiplier", "embedding_scale"},
      {"residual_multiplier", "residual_scale"},   {"logits_scaling", "logit_scale"},
      {"attention_multiplier", "attention.scale"}, {"attention_bias", "has:attn_q.bias"}};
  const std::vector<GgufField> nemotron = {
      {"ssm_state_size", "ssm.state_size"},
      {"conv_kernel", "ssm.conv_kernel"},
      {"n_groups", "ssm.group_count"},
      {"use_conv_bias", "has:ssm_conv1d.bias"},
      {"use_bias", "has:ssm_in.bias"},
      {"attention_bias", "has:attn_q.bias"},
      {"mlp_bias", "has:ffn_up.bias"},
      {"n_routed_experts", "expert_count"},
      {"moe_intermediate_size", "rows:ffn_up_exps"},
      {"moe_shared_expert_intermediate_size", "rows:ffn_up_shexp"},
      {"moe_latent_size", "moe_latent_size"},
      {"norm_topk_prob", "expert_weights_norm"},
      {"routed_scaling_factor", "expert_weights_scale"},
      {"n_group", "expert_group_count"},
      {"topk_group", "expert_group_used_count"}};
  const std::vector<GgufField> delta = {{"linear_num_key_heads", "ssm.group_count"},
                                        {"linear_num_value_heads", "ssm.time_step_rank"},
                                        {"linear_key_head_dim", "ssm.state_size"},
                                        {"linear_conv_kernel_dim", "ssm.conv_kernel"},
                                        {"attention_bias", "has:attn_q.bias"},
                                        {"num_experts", "expert_count"},
                                        {"moe_intermediate_size", "rows:ffn_up_exps"},
                                        {"shared_expert_intermediate_size", "rows:ffn_up_shexp"}};
  const std::vector<GgufField> lfm2 = {{"conv_L_cache", "shortconv.l_cache"},
                                       {"conv_bias", "has:shortconv.in_proj.bias"},
                                       {"intermediate_size", "rows:ffn_up"},
                                       {"num_experts", "expert_count"},
                                       {"moe_intermediate_size", "rows:ffn_up_exps"},
                                       {"num_dense_layers", "leading:ffn_gate_inp"},
                                       {"use_expert_bias", "has:exp_probs_b"},
                                       {"routed_scaling_factor", "expert_weights_scale"}};
  return {
      {.name = "mamba",
       .model_type = "falcon_mamba",
       .class_name = "FalconMambaForCausalLM",
       .fields = mamba,
       .write = write_falcon_mamba,
       .when = "ssm.dt_b_c_rms"},
      {.name = "mamba",
       .model_type = "mamba",
       .class_name = "MambaForCausalLM",
       .fields = mamba,
       .write = write_mamba},
      {.name = "mamba2",
       .model_type = "mamba2",
       .class_name = "Mamba2ForCausalLM",
       .fields = mamba,
       .write = write_mamba2},
      {.name = "granitehybrid",
       .model_type = "granitemoehybrid",
       .class_name = "GraniteMoeHybridForCausalLM",
       .fields = granite,
       .write = write_granite_hybrid,
       .pairs = true,
       .varies = true},
      {.name = "falcon-h1",
       .model_type = "falcon_h1",
       .class_name = "FalconH1ForCausalLM",
       .fields = hybrid,
       .write = write_falcon_h1},
      {.name = "jamba",
       .model_type = "jamba",
       .class_name = "JambaForCausalLM",
       .fields = hybrid,
       .members = R"({"sliding_window": null})",
       .write = write_jamba,
       .varies = true},
      {.name = "lfm2",
       .model_type = "lfm2",
       .class_name = "Lfm2ForCausalLM",
       .fields = {lfm2[0], lfm2[1], lfm2[2]},
       .write = write_lfm2,
       .varies = true},
      {.name = "lfm2moe",
       .model_type = "lfm2_moe",
       .class_name = "Lfm2MoeForCausalLM",
       .fields = lfm2,
       .members = R"({"norm_topk_prob": true})",
       .write = write_lfm2,
       .varies = true},
      {.name = "nemotron_h",
       .model_type = "nemotron_h",
       .class_name = "NemotronHForCausalLM",
       .fields = nemotron,
       .members = R"({"sliding_window": null})",
       .write = write_nemotron_h,
       .varies = true},
      {.name = "nemotron_h_moe",
       .model_type = "nemotron_h",
       .class_name = "NemotronHForCausalLM",
       .fields = nemotron,
       .members = R"({"sliding_window": null})",
       .write = write_nemotron_h,
       .varies = true},
      {.name = "qwen3next",
       .model_type = "qwen3_next",
       .class_name = "Qwen3NextForCausalLM",
       .fields = delta,
       .members = R"({"norm_topk_prob": true})",
       .write = write_gated_delta,
       .varies = true},
      {.name = "qwen35",
       .model_type = "qwen3_5_text",
       .class_name = "Qwen3_5ForCausalLM",
       .fields = {delta[0], delta[1], delta[2], delta[3], delta[4]},
       .write = write_gated_delta,
       .varies = true},
      {.name = "qwen35moe",
       .model_type = "qwen3_5_moe_text",
       .class_name = "Qwen3_5MoeForCausalLM",
       .fields = delta,
       .write = write_gated_delta,
       .varies = true},
  };
}

}  // namespace pippin::models
